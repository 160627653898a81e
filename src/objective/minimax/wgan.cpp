#include "objective/minimax/wgan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/layers_option.hpp"
#include "objective/math/ball.hpp"
#include "objective/minimax/mean_weight.hpp"
#include "objective/minimax/saddle_network.hpp"
#include "objective/minimax/wgan_fakes.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

/// D itself: the output of the record's class.
class CriticScore final : public OutputLoss {
 public:
  /// K classes; 0: one output, whatever the label.
  explicit CriticScore(std::size_t classes) : classes_(classes) {}
  /// Nothing if the label is none, or no class's number.
  std::optional<std::size_t> output_of(float label) const {
    if (classes_ == 0 && !std::isnan(label)) return 0;
    if (!(label >= 0 && label < static_cast<float>(classes_))) return {};
    return static_cast<std::size_t>(label);
  }
  void gradient(const double* outputs, float label, std::span<const float>, double* delta, double*) override {
    const auto own = output_of(label);
    const bool usable = own && std::isfinite(outputs[*own]);
    for (std::size_t k = 0; k < std::max<std::size_t>(1, classes_); ++k)
      delta[k] = !usable ? std::numeric_limits<double>::quiet_NaN() : k == *own ? 1 : 0;
  }

 private:
  std::size_t classes_;
};

class Wgan final : public SaddleObjective, public Generator {
 public:
  explicit Wgan(WganSettings settings)
      : settings_(std::move(settings)),
        score_(settings_.classes),
        critic_((settings_.layers ? layered(*settings_.layers) : perceptron(settings_.critic))(score_)),
        fakes_(generator_of_fakes(settings_), critic_of_fakes(settings_), settings_.classes) {}

  std::size_t dim() const override { return primal_dim() + critic_->dim(); }
  std::size_t primal_dim() const override { return fakes_.generator().dim(); }
  LabelKind label_kind() const override { return settings_.classes > 0 ? LabelKind::class_ : LabelKind::real; }
  std::size_t classes() const override { return settings_.classes; }
  RecordFactors heeds() const override { return {.weight = true}; }
  std::size_t outputs() const override { return settings_.classes > 0 ? 0 : 1; }
  std::vector<ParameterGroup> groups() const override;
  std::vector<std::string> structure() const override;
  double flops_per_record() const override { return critic_->flops(); }
  std::size_t micro_batch_rows() const override { return critic_->rows_at_once(); }
  void initialise(const PublicStream& stream, std::span<float> w) const override;

  std::string_view loss_name() const override { return "wasserstein"; }

  void add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void add_public_primal(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void project_dual(std::span<float> y) const override;
  NumericSlack dual_gradient_slack() const override { return critic_->gradient_slack(); }

 protected:
  Capabilities capabilities() override { return {.values = this, .saddle = this, .generator = this}; }

 private:
  void prepare(std::span<const float> w) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  std::size_t width() const override { return settings_.generator.units.back(); }
  GreyImage picture(const std::vector<float>& records) const override;
  void generate(std::span<const float> w, const PublicStream& stream, std::uint64_t first,
                std::span<float> records) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  static std::unique_ptr<FakeGenerator> generator_of_fakes(const WganSettings& settings) {
    return settings.generator_layers ? layered_of_fakes(*settings.generator_layers, WganFakes::rows_at_once)
                                     : perceptron_of_fakes(settings.generator, WganFakes::rows_at_once);
  }
  static std::unique_ptr<FakeCritic> critic_of_fakes(const WganSettings& settings) {
    return settings.layers ? layered_on_fakes(*settings.layers)
                           : perceptron_on_fakes(settings.critic, WganFakes::rows_at_once);
  }
  /// Of a step, no two of which share one.
  Latents latents(const PublicStream& stream, std::uint64_t step) const {
    return {stream, settings_.fakes, step * settings_.fakes};
  }

  WganSettings settings_;
  CriticScore score_;
  std::unique_ptr<SaddleNetwork> critic_;
  mutable WganFakes fakes_;  ///< scratch: it is loaded with the point before each use
  std::span<const float> w_;
  std::optional<double> fake_score_;  ///< at w_
  PublicStream critic_latents_{settings_.seed, "wgan critic"}, generator_latents_{settings_.seed, "wgan generator"};
  Latents evaluated_{{settings_.seed, "wgan evaluation"}, 1024};
};

std::vector<ParameterGroup> Wgan::groups() const {
  std::vector<ParameterGroup> all;
  const auto append = [&](const char* prefix, std::vector<ParameterGroup> groups, std::size_t offset) {
    for (ParameterGroup& group : groups) {
      group.name = prefix + group.name;
      group.offset += offset;
      all.push_back(std::move(group));
    }
  };
  append("generator.", fakes_.generator().groups(), 0);
  append("critic.", critic_->groups(), primal_dim());
  return all;
}

std::vector<std::string> Wgan::structure() const {
  std::vector<std::string> lines;
  for (const std::string& line : fakes_.generator().structure()) lines.push_back("generator: " + line);
  for (std::string& line : critic_->structure()) lines.push_back(std::move(line));
  if (settings_.layers && settings_.dual_radius > 0)
    lines.push_back(
        fmt::format("slope of the critic at most {:.4g}",
                    slope_bound_of(settings_.layers->plans, settings_.layers->in, settings_.dual_radius)));
  return lines;
}

void Wgan::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  fakes_.generator().initialise(stream, w.first(primal_dim()));
  critic_->initialise(stream, w.subspan(primal_dim()), round_up(primal_dim(), 2));
  project_dual(w.subspan(primal_dim()));
}

void Wgan::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point has dim() coordinates");
  w_ = w;
  fake_score_.reset();
  critic_->load(w.subspan(primal_dim()), {});
}

void Wgan::losses(const Rows& rows, std::span<double> out) {
  if (!fake_score_) {
    fakes_.load(w_);
    fake_score_ = fakes_.mean_score(evaluated_);
  }
  for_each_part(rows, critic_->rows_at_once(), [&](const Rows& part, std::size_t first) {
    critic_->forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) {
      const auto own = score_.output_of(label(part, r));
      out[first + r] = own ? static_cast<double>(critic_->outputs_of(r, 0)[*own]) - *fake_score_
                           : std::numeric_limits<double>::quiet_NaN();
    }
  });
}

void Wgan::scores(const Rows& rows, std::span<float> out) {
  if (outputs() == 0) return;
  for_each_part(rows, critic_->rows_at_once(), [&](const Rows& part, std::size_t first) {
    critic_->forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) out[first + r] = critic_->outputs_of(r, 0)[0];
  });
}

GreyImage Wgan::picture(const std::vector<float>& records) const {
  const std::size_t count = records.size() / width();
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::size_t across = round_up(side, std::max<std::size_t>(1, settings_.classes));  // a column for a class
  return sheet(records, count, settings_.rows, settings_.columns, across);
}

void Wgan::generate(std::span<const float> w, const PublicStream& stream, std::uint64_t first,
                    std::span<float> records) {
  fakes_.load(w);
  fakes_.generate({stream, records.size() / width(), first}, records);
}

void Wgan::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(critic_->rows_at_once(), sum.rows_at_once()),
                [&](const Rows& part, std::size_t) { critic_->add_gradients(part, bound, sum); });
}

void Wgan::add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const {
  fakes_.load(w);
  fakes_.add_critic_gradient(latents(critic_latents_, step), -mean_weight(), gradient);
  const double decay = mean_weight() * (2 * settings_.penalty);
  for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] -= decay * static_cast<double>(w[primal_dim() + j]);
}

void Wgan::add_public_primal(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const {
  fakes_.load(w);
  fakes_.add_generator_gradient(latents(generator_latents_, step), -mean_weight(), gradient);
}

void Wgan::project_dual(std::span<float> y) const {
  if (settings_.dual_radius > 0) project_to_ball(y, settings_.dual_radius);
}

MlpShape network(std::size_t inputs, float bias, const std::vector<std::int64_t>& hidden, std::size_t outputs) {
  return {.units = units_of(inputs, hidden, outputs), .input_bias = bias, .activation = Activation::leaky_relu};
}

// The critic on records and on fakes; the generator keeps no values of records.
constexpr LayerPasses critic_passes{.in_float = 2, .in_double = 0}, generator_passes{.in_float = 1, .in_double = 0};

class WganBuilder final : public ObjectiveEntry::Builder, public LayersOption {
 public:
  void declare(Options& options) override {
    options.add("generator", generator_, "units of the generator's hidden layers", Range::at_least(1))
        .add("critic", critic_, "units of the critic's hidden layers", Range::at_least(1))
        .add("latent", latent_, "normals u that an image is made from", Range::closed(1, 1 << 20))
        .add("classes", classes_,
             "classes of the labels, each of which the generator makes on demand (0: labels are not used)",
             Range::closed(0, 0x1p16))
        .add("image_rows", rows_, "rows of an image's pixels; rows times columns are the records' features",
             Range::closed(1, 1 << 16))
        .add("image_columns", columns_, "columns of an image's pixels", Range::closed(1, 1 << 16))
        .add("fakes", fakes_, "images that each network is shown in a step", Range::closed(1, 0x1p20))
        .add("penalty", penalty_, "lambda of the public term -lambda |critic's weights|^2", Range::non_negative())
        .add("dual_radius", dual_radius_,
             "largest norm of the critic's weights, which are projected there (0: none)", Range::non_negative())
        .add("seed", seed_, "public seed of the u", Range::at_least(0));
    generator_layers_.declare_list(options, " of the generator, in place of objective.generator,",
                                   "dense 1568, unflatten 32x7x7, relu, upsample 2, conv 16 3 pad 1");
    declare_layers(options, " of the critic, in place of objective.critic,",
                   "one channel of image_rows x image_columns");
    declare_mean_weight(options, mean_weight_);
  }
  void validate(std::vector<std::string>& problems) const override {
    if (classes_ == 1)
      problems.emplace_back("objective.classes = 1, allowed: 2 or more, or 0 for images without one");
    if (any_layers() && critic_ != usual_critic)
      problems.emplace_back("objective.layers and objective.critic are two critics: take one of them");
    if (any_layers()) check_layers_option(problems);
    if (!generator_layers_.any_layers()) return;
    if (generator_ != usual_generator)
      problems.emplace_back(
          "objective.generator_layers and objective.generator are two generators: take one of them");
    generator_layers_.check_layers_option(problems);
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const auto pixels = static_cast<double>(rows_) * static_cast<double>(columns_);
    if (pixels != static_cast<double>(facts.features))
      throw ConfigError(
          fmt::format("objective wgan makes images of {} x {} pixels, and the records have {} features: set "
                      "objective.image_rows and image_columns",
                      rows_, columns_, facts.features));
    const std::size_t outputs = std::max<std::size_t>(1, classes());
    const std::optional<LayeredShape> layers =
        any_layers() ? std::optional(shape_for(facts.features, outputs, critic_passes)) : std::nullopt;
    std::optional<LayeredShape> generator_layers;
    if (generator_layers_.any_layers())
      generator_layers = generator_layers_.shape_that_makes(layers ? layers->in : *usual_input(), generator_passes);
    auto wgan = make_wgan({.generator = network(size(latent_ + classes_), 1, generator_, facts.features),
                           .generator_layers = generator_layers,
                           .critic = network(facts.features, facts.bias, critic_, outputs),
                           .layers = layers,
                           .classes = classes(),
                           .rows = size(rows_),
                           .columns = size(columns_),
                           .fakes = size(fakes_),
                           .penalty = penalty_,
                           .dual_radius = dual_radius_,
                           .seed = static_cast<std::uint64_t>(seed_)});
    wgan->given_mean_weight = mean_weight_;
    return wgan;
  }
  LabelKind label_kind() const override { return classes_ > 0 ? LabelKind::class_ : LabelKind::real; }
  std::size_t classes() const override { return static_cast<std::size_t>(classes_); }

 private:
  std::optional<Volume> usual_input() const override {
    return Volume{1, static_cast<std::size_t>(rows_), static_cast<std::size_t>(columns_)};
  }

  /// Of a list of latents, and of numbers that say a class.
  class GeneratorLayers final : public LayersOption {
   public:
    GeneratorLayers(const std::int64_t& latent, const std::int64_t& classes)
        : LayersOption("generator_layers"), latent_(latent), classes_(classes) {}

   private:
    std::optional<Volume> usual_input() const override {
      return Volume{static_cast<std::size_t>(latent_ + classes_), 1, 1};
    }
    const std::int64_t &latent_, &classes_;
  };

  static inline const std::vector<std::int64_t> usual_generator = {128, 256}, usual_critic = {64};
  std::vector<std::int64_t> generator_ = usual_generator, critic_ = usual_critic;
  std::int64_t latent_ = 100, classes_ = 0, rows_ = 28, columns_ = 28, fakes_ = 256, seed_ = 1;
  GeneratorLayers generator_layers_{latent_, classes_};
  double penalty_ = 1e-3, dual_radius_ = 0, mean_weight_ = 0;
};

const ObjectiveRegistration wgan{
    {"wgan", "generator of images and critic: Wasserstein GAN, min-max form", make_builder<WganBuilder>}};

/// Throws ConfigError for layers that the ball does not bound.
void check_ball(const LayeredShape& critic, double radius) {
  try {
    slope_bound_of(critic.plans, critic.in, radius);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format(
        "objective.layers: {}: such a critic has no bound within objective.dual_radius = {}: leave the layer out, or set objective.dual_radius = 0",
        error.what(), radius));
  }
}

}  // namespace

std::unique_ptr<SaddleObjective> make_wgan(WganSettings settings) {
  check_units(settings.generator);
  check_units(settings.critic);
  if (settings.rows * settings.columns != settings.critic.units.front() ||
      settings.generator.units.back() != settings.critic.units.front())
    throw ConfigError(
        "objective wgan: the generator's outputs, the critic's features and the pixels of an image are the same numbers");
  if (settings.classes == 1 || settings.critic.units.back() != std::max<std::size_t>(1, settings.classes) ||
      settings.generator.units.front() <= settings.classes)
    throw ConfigError(
        "objective wgan: a critic has one output, or one for each of two or more classes, and the generator an input for each "
        "beside its latents");
  if (settings.fakes == 0) throw ConfigError("objective.fakes must be 1 or more");
  if (!(settings.penalty >= 0) || !(settings.dual_radius >= 0))
    throw ConfigError(fmt::format("objective.penalty = {}, objective.dual_radius = {}, allowed: numbers >= 0",
                                  settings.penalty, settings.dual_radius));
  if (settings.generator_layers) check_layers_of_saddles(*settings.generator_layers, "generator_layers");
  if (settings.layers) {
    verify(settings.layers->in.size() == settings.critic.units.front(), "layers take the features");
    if (settings.dual_radius > 0) check_ball(*settings.layers, settings.dual_radius);
  }
  return std::make_unique<Wgan>(std::move(settings));
}

}  // namespace dpmpi
