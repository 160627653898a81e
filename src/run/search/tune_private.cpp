#include "run/search/tune_private.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "core/secrecy.hpp"
#include "data/columns/columns_file.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/text.hpp"
#include "privacy/curator/commitment.hpp"
#include "run/objective/train_by_turns.hpp"
#include "run/search/training_plan.hpp"
#include "run/train/input_checks.hpp"
#include "run/train/run_in_memory.hpp"

namespace dpmpi {
namespace {

// The numbers of no training: of what is no point, and of a point at which the trainer's settings do not fit.
constexpr std::uint64_t no_point = ~std::uint64_t{0}, as_it_starts = no_point - 1;

/// Both configs have the same options: a message about the trainer's has to say so.
template <class Read>
auto of_trainer(const std::string& path, Read&& read) {
  const auto of = [&](const std::string& text) {
    return "objective.trainer = " + (text.starts_with(path) ? text : path + ": " + text);
  };
  try {
    return read();
  } catch (const ConfigError& e) {
    throw ConfigError(of(e.what()));
  } catch (const DataError& e) {
    throw DataError(of(e.what()));
  } catch (const PrivacyError& e) {
    throw PrivacyError(of(e.what()));
  }
}

}  // namespace

void TunePrivate::declare(Options& options) {
  options
      .add(
          "trainer", trainer_,
          "config by which models are trained: its data, objective, method and privacy, whose epsilon is for all models together")
      .add(
          "search", searched_,
          "options of the trainer that are searched for, each a coordinate: section.key:low:high, geometric between two "
          "positive bounds, or section.key:a|b|c, one of a list");
  declare_start(options, start_);
}

void TunePrivate::read_trainer(const std::string& folder, ConfigOf whose) {
  if (trainer_.empty()) throw ConfigError("objective.trainer is not set: the config by which models are trained");
  if (searched_.empty())
    throw ConfigError("objective.search is empty: options of the trainer, as method.rate:0.01:1");
  const std::string path = (std::filesystem::path(folder) / trainer_).string();
  search_ = of_trainer(path, [&] { return std::make_shared<const SearchedConfig>(path, searched_, whose); });
}

void TunePrivate::check(const RunConfig& config, std::vector<std::string>& problems) const {
  const RunConfig& trainer = search_->base();
  const auto problem = [&](const std::string& text) {
    problems.push_back(fmt::format("objective.trainer = {}: {}", trainer.path(), text));
  };
  if (!trainer.is_private())
    problem(
        "privacy.noise = none; models that are trained on public records are those of the other tune_ objectives");
  if (trainer.privacy.seeded())
    problem("privacy.seed belongs to the config that searches: noise of its trainings follows that run's key");
  if (trainer.privacy.adjacency != config.privacy.adjacency)
    problem(
        fmt::format("privacy.adjacency = {}, and {} in the config that searches: epsilons of the two cannot be "
                    "added up for who is in both sets",
                    trainer.privacy.adjacency, config.privacy.adjacency));
  if (trainer.data.bias != config.data.bias)
    problem(fmt::format("data.bias = {}, and {} in the config that searches: a model has one", trainer.data.bias,
                        config.data.bias));
  if (!config.data.eval.empty())
    problems.emplace_back(
        "data.eval is set: another model would have to be trained for it, which costs its people privacy. Train the "
        "settings that the run finds with dpmpi train --config TRAINER.ini --set ..., and evaluate that run");
}

std::unique_ptr<Objective> TunePrivate::make(const ObjectiveFacts& facts) const {
  return std::make_unique<PrivateTuning>(search_, facts, start_);
}

std::unique_ptr<Objective> TunePrivate::make(const ObjectiveFacts& facts, const DatasetFacts& trainer_data) const {
  return std::make_unique<PrivateTuning>(search_, facts, start_, trainer_data);
}

namespace {

DatasetFacts inspect_data_of(const RunConfig& trainer, const Dataset& dataset) {
  return of_trainer(trainer.path(), [&] { return inspect(Communicator::alone(), dataset); });
}

}  // namespace

PrivateTuning::PrivateTuning(std::shared_ptr<const SearchedConfig> search, const ObjectiveFacts& facts,
                             std::string start)
    : PrivateTuning(search, facts, std::move(start), search->base().find_files().training) {}

PrivateTuning::PrivateTuning(std::shared_ptr<const SearchedConfig> search, const ObjectiveFacts& facts,
                             std::string start, Dataset of_trainer)
    : PrivateTuning(search, facts, std::move(start), inspect_data_of(search->base(), of_trainer)) {
  of_trainer_ = std::move(of_trainer);
}

PrivateTuning::PrivateTuning(std::shared_ptr<const SearchedConfig> search, const ObjectiveFacts& facts,
                             std::string start, const DatasetFacts& data)
    : TunedObjective(std::move(start)), search_(std::move(search)) {
  const RunConfig& trainer = search_->base();
  if (data.features != facts.features)
    throw DataError(fmt::format("objective.trainer = {}: its data has {} features, data.train has {}",
                                trainer.path(), data.features, facts.features));
  of_trainer(trainer.path(), [&] {
    dearest_ = dearest_training(*search_, data);
    return 0;
  });
  if (factors_of(trainer.data).exposure)
    throw ConfigError(fmt::format(
        "objective.trainer = {}: its columns have an exposure, and data.train would be scored without one",
        trainer.path()));
  for (std::vector<std::string>& shape : search_->shapes()) {
    auto config = shape.empty() ? nullptr : search_->with(shape);
    auto objective = (config ? *config : trainer).objective->make(facts);
    const Objective& first = scorers_.empty() ? *objective : *scorers_.front().objective;
    if (objective->outputs() != first.outputs() || objective->label_kind() != first.label_kind() ||
        objective->classes() != first.classes())
      throw ConfigError(fmt::format(
          "objective.search: labels or outputs of a model with {} are others than with {}; all must be the same",
          fmt::join(shape, " "), fmt::join(scorers_.front().shape, " ")));
    scorers_.push_back({std::move(shape), std::move(config), std::move(objective)});
  }
}

Objective& PrivateTuning::scorer(const std::vector<std::string>& settings) const {
  const std::vector<std::string> shape =
      search_->shape(settings.empty() ? search_->settings(std::vector<double>(dim())) : settings);
  return *std::ranges::find(scorers_, shape, &Scorer::shape)->objective;
}

void PrivateTuning::check_records(const Shard& shard) const {
  for (const Scorer& scorer : scorers_) scorer.objective->check_records(shard);
}

std::size_t PrivateTuning::micro_batch_rows() const {
  std::size_t rows = scorers_.front().objective->micro_batch_rows();
  for (const Scorer& scorer : scorers_) rows = std::min(rows, scorer.objective->micro_batch_rows());
  return rows;
}

double PrivateTuning::flops_per_record() const {
  double most = 0;
  for (const Scorer& scorer : scorers_) most = std::max(most, scorer.objective->flops_per_record());
  return most;
}

PlannedTraining PrivateTuning::plan_training(const std::vector<std::string>& settings,
                                             const TrainingPlan& plan) const {
  return dpmpi::plan_training(*search_, settings, dearest_.facts.data, plan, scorer(settings).dim());
}

std::vector<std::string> PrivateTuning::settings(std::span<const float> iterate) const {
  return search_->settings(std::vector<double>(iterate.begin(), iterate.end()));
}

std::string PrivateTuning::advice(std::span<const float> iterate) const {
  std::string text =
      fmt::format("train with what was found (a run with a budget of its own): dpmpi train --config '{}'",
                  search_->base().path());
  for (const std::string& setting : settings(iterate)) text += " --set " + setting;
  return text;
}

void PrivateTuning::read_records(const Communicator& comm, const DataFiles& files) {
  comm_ = &comm;
  throw_on_all_ranks(comm, [&] {
    if (comm.is_root()) refuse_private_trainer(files, of_trainer_);
    const FileStamps stamps({&of_trainer_});
    const ShowFields show(of_trainer_.shows_values());
    check_feature_names("data.train of objective.trainer", dearest_.facts.data.feature_names,
                        feature_names(files.training));
    const Communicator alone = Communicator::alone();
    const BlockLayout layout = make_outline(dearest_config(), dearest()).layout;
    shard_ = load(alone, of_trainer_, layout, Ownership::even(layout.blocks, 1), label_kind(), classes());
    check_records(shard_);  // the features of both sets are the same
    stamps.check();
  });
}

// Every rank trains, so every rank is trusted with the trainer's data; their noise is no secret from it either.
std::string PrivateTuning::begin(std::shared_ptr<const TrainingPlan> plan,
                                 const std::optional<SecretKey>& run_key) {
  plan_ = std::move(plan);
  std::array<std::uint8_t, 32> bytes{};
  if (comm_->is_root()) std::ranges::copy(run_key->derive("trainings").bytes(), bytes.begin());
  comm_->broadcast(std::span<std::uint8_t>(bytes));
  key_ = SecretKey::from_bytes(bytes);
  wipe(bytes);
  std::string commitment = commitment_to(Communicator::alone(), shard_, key_);
  comm_->agree(commitment, "the trainer's data");
  return commitment;
}

// On the root, because bits of exponentials are a machine's own. What is planned is checked before it is paid for.
std::vector<PrivateTuning::Order> PrivateTuning::pay(std::span<const double> points) {
  std::vector<Order> orders(points.size() / dim());
  std::vector<std::string> texts;
  std::vector<std::size_t> places;
  for (std::size_t p = 0; p < orders.size(); ++p) {
    const auto point = points.subspan(p * dim(), dim());
    orders[p].number = no_point;
    if (!std::ranges::all_of(point, [](double x) { return std::isfinite(x); })) continue;
    orders[p].settings = search_->settings(point);
    // Which points are so follows from public settings alone.
    const std::string why = refusal_of([&] { (void)plan_training(orders[p].settings, *plan_); });
    if (!why.empty()) {
      warn("the model with {} stays as it starts: {}", fmt::join(orders[p].settings, " "), why);
      orders[p].number = as_it_starts;
      continue;
    }
    texts.push_back(fmt::format("{}\n", fmt::join(orders[p].settings, "\n")));
    places.push_back(p);
  }
  const std::vector<std::uint64_t> numbers = ledger_->pay(texts);
  for (std::size_t i = 0; i < places.size(); ++i) orders[places[i]].number = numbers[i];
  return orders;
}

void PrivateTuning::prepare_points(std::span<const double> points) {
  verify(points.size() % dim() == 0, "points have dim() coordinates");
  orders_.assign(points.size() / dim(), {});
  if (comm_->is_root()) orders_ = pay(points);
  model_size_ = 0;
  for (Order& order : orders_) {
    comm_->broadcast(order.number);
    order.settings.resize(order.number >= as_it_starts ? 0 : dim());
    for (std::string& setting : order.settings) comm_->broadcast(setting);
    model_size_ = std::max(model_size_, scorer(order.settings).dim());
  }
  scored_.reset();
  models_.assign(orders_.size() * model_size_, 0.0F);
  train_by_turns(*comm_, model_size_, std::span<float>(models_), [&](std::size_t p, std::span<float> model) {
    train(orders_[p], model.first(scorer(orders_[p].settings).dim()));
  });
}

void PrivateTuning::train(const Order& order, std::span<float> model) const {
  if (order.number == no_point) return std::ranges::fill(model, std::numeric_limits<float>::quiet_NaN()), void();
  // A loss that is no number would make every record contribute nothing for as long as the point is remembered.
  if (order.number == as_it_starts) return scorer().initialise(PublicStream(1, "start point"), model);
  const PlannedTraining training = plan_training(order.settings, *plan_);
  const RunParts parts{.plan = training.plan.method,
                       .objective = training.objective.get(),
                       .queries = training.plan.queries,
                       .adjacency = training.plan.adjacency,
                       .mask_sums = false};
  const auto algorithm =
      run_in_memory(Communicator::alone(), parts, shard_, key_->derive("training", order.number));
  const auto iterate = algorithm->iterate();
  verify(iterate.size() == model.size(), "a model of the planned size");
  std::ranges::copy(iterate, model.begin());
}

void PrivateTuning::losses_at(std::size_t p, const Rows& rows, std::span<double> out) {
  verify(p < orders_.size(), "a point that was prepared");
  if (scored_ != p) {
    // To a place of its own: alignment decides on bits.
    const auto model = std::span(models_).subspan(p * model_size_);
    Objective& its = scorer(orders_[p].settings);
    model_.assign(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(its.dim()));
    at_model_ = its.at(model_);
    scored_ = p;
  }
  at_model_.losses(rows, out);
}

namespace {

const ObjectiveRegistration tune_private{
    {"tune_private", "validation loss of models that another config trains on a private set of its own",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<TunePrivate>(); }}};

}  // namespace
}  // namespace dpmpi
