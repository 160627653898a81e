// The objective `td` and its options.

#include "objective/td/factory.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/synthetic/environments.hpp"
#include "objective/layers/layers_option.hpp"
#include "objective/minimax/saddle_network.hpp"
#include "objective/td/base.hpp"

namespace dpmpi {
namespace {

/// Why a layer is none of a value function; empty: it may be one.
std::string not_of_a_value(const LayerPlan& layer) {
  if (layer.has_kink())
    return "the gradient of td has second derivatives of the value, of which a kink has none: take tanh, softplus, "
           "gelu or avgpool";
  return {};
}

// Both points of a difference, each with the four that a product with the Hessian is made of.
constexpr LayerPasses passes_of_a_pair{.in_float = 0, .in_double = 10};

class TdBuilder final : public ObjectiveEntry::Builder, public LayersOption {
 public:
  void declare(Options& options) override {
    options.add("value", value_, "value function: linear, one hidden layer of tanh units, or network of layers",
                {"linear", "mlp", "network"});
    options.add("hidden", hidden_, "units of the hidden layer (value = mlp)", Range::at_least(1));
    options.add("discount", settings_.discount, "discount factor gamma", Range::closed(0, 1));
    options.add("dual_l2", settings_.dual_l2, "curvature mu of the public term -(mu / 2) |omega|^2",
                Range::non_negative());
    options.add("dual_radius", settings_.dual_radius, "largest norm of omega", Range::positive());
    options.add("unit", unit_, "what a record is, and so what the guarantee protects", {"transition", "episode"});
    options.add("episode_steps", episode_steps_, "transitions that a record has room for (unit = episode)",
                Range::closed(1, 1e6));
    options.add("known_values", known_values_, "whose values eval.value_error compares with",
                {"none", "gridworld"});
    declare_layers(options, " of the value function (value = network),", "a list of a state's features");
  }
  void validate(std::vector<std::string>& problems) const override {
    if ((value_ == "network") != any_layers())
      problems.push_back(
          any_layers() ? fmt::format("objective.layers are those of objective.value = network; it is {}", value_)
                       : "objective.layers is not set: the layers of the value, as dense 50, tanh, dense 1");
    if (!any_layers()) return;
    check_layers_option(problems);
    refuse_layers(problems, not_of_a_value);
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    TdSettings settings = settings_;
    settings.hidden = value_ == "mlp" ? static_cast<std::size_t>(hidden_) : 0;
    settings.bias = facts.bias;
    settings.grid_world = known_values_ == "gridworld";
    if (unit_ == "episode") settings.episode_steps = static_cast<std::size_t>(episode_steps_);
    settings.state = state_features(facts.features, settings.episode_steps);
    if (any_layers()) settings.layers = shape_for(settings.state, 1, passes_of_a_pair, "a state has");
    return make_td(settings);
  }
  LabelKind label_kind() const override { return LabelKind::real; }

 private:
  static std::size_t state_features(std::uint64_t features, std::uint64_t episode_steps) {
    if (episode_steps == 0) {
      if (features >= 3 && features % 2 == 1) return static_cast<std::size_t>((features - 1) / 2);
      throw ConfigError(fmt::format(
          "objective td needs records (s, s', terminal): an odd number of features, 3 or more, not {}", features));
    }
    const std::uint64_t width = features / episode_steps;
    if (width * episode_steps == features && width >= 4 && width % 2 == 0)
      return static_cast<std::size_t>((width - 2) / 2);
    throw ConfigError(fmt::format(
        "objective td needs records of objective.episode_steps = {} times (s, s', terminal, reward): an "
        "even number of features, 4 or more, each time; the records have {} features",
        episode_steps, features));
  }

  TdSettings settings_;
  std::string value_ = "mlp", unit_ = "transition", known_values_ = "none";
  std::int64_t hidden_ = 50, episode_steps_ = 64;
};

const ObjectiveRegistration td{
    {"td", "projected Bellman error of logged transitions, min-max form", make_builder<TdBuilder>}};

}  // namespace

std::unique_ptr<SaddleObjective> make_td(const TdSettings& settings) {
  if (settings.state == 0) throw ConfigError("objective td: a state has no features");
  if (!(settings.discount >= 0 && settings.discount <= 1))
    throw ConfigError(fmt::format("objective.discount = {}, allowed: a number in [0, 1]", settings.discount));
  if (!(settings.dual_radius > 0))
    throw ConfigError(fmt::format("objective.dual_radius = {}, allowed: a number > 0", settings.dual_radius));
  if (settings.grid_world && settings.state != GridWorld::cells)
    throw ConfigError(fmt::format("objective.known_values = gridworld: a state has {} features, not {}",
                                  settings.state, GridWorld::cells));
  if (settings.layers) {
    check_layers_of_saddles(*settings.layers);
    return make_td_of_layers(settings);
  }
  return settings.episode_steps > 0 ? make_td_of_episodes(settings) : make_td_of_transitions(settings);
}

}  // namespace dpmpi
