// The network of layers of min-max problems.

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/joint_clip.hpp"
#include "objective/minimax/saddle_network.hpp"
#include "objective/network/clip.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

/// A loss of a record's outputs and of a tail: its slopes by both, times the record's weight.
class OutputSlopes {
 public:
  OutputSlopes(OutputLoss& loss, std::size_t outputs)
      : loss_(loss), outputs_(outputs), by_outputs_(outputs), by_tail_(loss.slopes()) {}

  template <class T>
  void take(const T* outputs, const Rows& rows, std::size_t row, std::span<const float> tail) {
    std::copy_n(outputs, outputs_.size(), outputs_.begin());
    loss_.select(rows, row);
    loss_.gradient(outputs_.data(), label(rows, row), tail, by_outputs_.data(), by_tail_.data());
    const double weight = rows.records.weight_of(rows.index[row]);
    for (double& slope : by_outputs_) slope *= weight;
    for (double& slope : by_tail_) slope *= weight;
  }
  std::span<const double> by_outputs() const { return by_outputs_; }
  std::span<double> by_tail() { return by_tail_; }

 private:
  OutputLoss& loss_;
  std::vector<double> outputs_, by_outputs_, by_tail_;
};

/// Gradients of one record at two points in double, where what cancels leaves enough. Of random copies: the same at
/// both points, which are those that the record has at the first.
class LayeredDifference {
 public:
  LayeredDifference(const LayeredShape& shape, OutputLoss& loss, const Augmentation& augmentation)
      : at_w_(shape, loss),
        at_v_(shape, loss),
        difference_(at_w_.pass.dim() + loss.slopes()),
        record_(room_for<float>(shape.in)),
        copy_(room_for<double>(shape.in)) {
    if (augmentation.any()) copies_.emplace(augmentation, shape.in);
  }

  void load(std::span<const float> w, std::span<const float> v) {
    at_w_.load(w);
    at_v_.load(v);
    if (copies_) copies_->set_point(w.first(at_w_.pass.dim()));
  }
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      at_w_.pass.read(rows, r);
      if (!at_w_.pass.finite()) continue;
      std::ranges::fill(difference_, 0.0);
      copies_ ? add_copies(rows, r) : add_difference(at_w_.pass.input(), rows, r);
      add_clipped_jointly(difference_, bound.clip, sum);
    }
  }

 private:
  struct Point {
    Point(const LayeredShape& shape, OutputLoss& loss)
        : pass(shape), slopes(loss, pass.outputs()), weights(pass.dim()) {}
    void load(std::span<const float> w) {
      std::copy_n(w.begin(), weights.size(), weights.begin());
      pass.load(weights);
      tail = w.subspan(weights.size());
    }
    void differentiate(const double* input, const Rows& rows, std::size_t r) {
      slopes.take(pass.forward(input), rows, r, tail);
      pass.backward(slopes.by_outputs());
    }
    RecordPass<double> pass;
    OutputSlopes slopes;
    std::vector<double> weights;
    std::span<const float> tail;
  };

  void add_difference(const double* input, const Rows& rows, std::size_t r) {
    at_w_.differentiate(input, rows, r);
    at_v_.differentiate(input, rows, r);
    const std::size_t dim = at_w_.pass.dim();
    for (std::size_t j = 0; j < dim; ++j) difference_[j] += at_w_.pass.gradient()[j] - at_v_.pass.gradient()[j];
    for (std::size_t j = dim; j < difference_.size(); ++j)
      difference_[j] += at_w_.slopes.by_tail()[j - dim] - at_v_.slopes.by_tail()[j - dim];
  }
  /// The mean over the copies of the record at hand.
  void add_copies(const Rows& rows, std::size_t r) {
    const double* const input = at_w_.pass.input();
    for (std::size_t j = 0; j < record_.size(); ++j) record_[j] = static_cast<float>(input[j]);  // as it was read
    copies_->set_record(record_.data());
    const std::size_t size = at_w_.pass.network().in().size();
    for (std::size_t k = 0; k < copies_->count(); ++k) {
      std::copy_n(copies_->copy(k), size, copy_.begin());
      add_difference(copy_.data(), rows, r);
    }
    for (double& x : difference_) x /= static_cast<double>(copies_->count());
  }

  Point at_w_, at_v_;
  std::vector<double> difference_;
  std::optional<RandomCopies> copies_;
  AlignedVector<float> record_;
  AlignedVector<double> copy_;
};

class Layered final : public SaddleNetwork {
 public:
  Layered(LayeredShape shape, OutputLoss& loss, const Augmentation& augmentation)
      : shape_(std::move(shape)),
        loss_(loss),
        augmentation_(augmentation),
        pass_(shape_),
        slopes_(loss, pass_.outputs()),
        kept_(records_at_once),
        squares_(pass_.layers() + (loss.slopes() > 0 ? 1 : 0)) {
    if (augmentation.any()) {
      random_.emplace(augmentation, shape_.in);
      mean_.resize(pass_.gradient().size());
      mean_tail_.resize(loss.slopes());
    }
    outputs_.resize(records_at_once * copies() * pass_.outputs());
  }

  std::size_t dim() const override { return pass_.dim(); }
  std::size_t outputs() const override { return pass_.outputs(); }
  std::size_t rows_at_once() const override { return records_at_once; }
  double flops() const override { return pass_.flops() * static_cast<double>(copies()); }
  std::size_t copies() const override { return random_ ? random_->count() : 1; }
  bool sees_copies() const override { return random_.has_value(); }
  std::vector<ParameterGroup> groups() const override { return pass_.network().groups(); }
  ScoreRecipe score_recipe() const override { return recipe_of(shape_); }
  std::vector<std::string> structure() const override { return structure_of(shape_); }
  void initialise(const PublicStream& stream, std::span<float> weights, std::uint64_t first) const override {
    stream.normals(first, weights);
    pass_.network().initialise(weights, false);
  }
  NumericSlack gradient_slack() const override { return record_gradient_slack(dim() + loss_.slopes()); }
  NumericSlack difference_slack() const override { return joint_clip_slack(dim() + loss_.slopes()); }

  void load(std::span<const float> weights, std::span<const float> tail) override {
    pass_.load(weights);
    tail_ = tail;
    if (random_) random_->set_point(weights);
  }
  void load_pair(std::span<const float> w, std::span<const float> v) override {
    if (!difference_) difference_ = std::make_unique<LayeredDifference>(shape_, loss_, augmentation_);
    difference_->load(w, v);
  }
  void forward(const Rows& rows) override {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      pass_.read(rows, r);
      forward(pass_.input(), r, 0);
    }
  }
  void forward_copies(const Rows& rows) override {
    for (std::size_t r = 0; r < rows.size(); ++r)
      for_each_copy(rows, r, [&](const float* input, std::size_t k) { forward(input, r, k); });
  }
  void add_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    sum.begin(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      random_ ? differentiate_copies(rows, r) : differentiate(rows, r);
      pass_.squares(squares_);
      const std::span<double> by_tail = slopes_.by_tail();
      if (!by_tail.empty()) squares_.back() = squared_norm(by_tail.data(), by_tail.size());
      kept_[r] = pass_.finite() && squares_to_factors(bound, squares_);
      if (kept(r)) add_scaled_gradient(sum);
    }
  }
  const float* outputs_of(std::size_t row, std::size_t copy) const override {
    return outputs_.data() + (row * copies() + copy) * outputs();
  }
  bool kept(std::size_t row) const override { return kept_[row] != 0; }
  void add_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    verify(difference_ != nullptr, "load_pair comes before differences");
    difference_->add(rows, bound, sum);
  }

 private:
  static constexpr std::size_t records_at_once = 16;

  const float* forward(const float* input, std::size_t r, std::size_t copy) {
    float* const to = outputs_.data() + (r * copies() + copy) * outputs();
    std::copy_n(pass_.forward(input), outputs(), to);
    return to;
  }
  /// Calls visit(input, number) with each copy of row r, or with the record itself.
  template <class Visit>
  void for_each_copy(const Rows& rows, std::size_t r, Visit&& visit) {
    pass_.read(rows, r);
    if (!random_) return visit(pass_.input(), std::size_t{0});
    random_->set_record(pass_.input());
    for (std::size_t k = 0; k < copies(); ++k) visit(random_->copy(k), k);
  }
  /// Makes the gradient of row r: in pass_, and by the tail in slopes_.
  void differentiate(const Rows& rows, std::size_t r) {
    for_each_copy(rows, r, [&](const float* input, std::size_t k) {
      slopes_.take(forward(input, r, k), rows, r, tail_);
      pass_.backward(slopes_.by_outputs());
      if (random_) add_to_mean();
    });
  }
  /// The mean of those of its copies.
  void differentiate_copies(const Rows& rows, std::size_t r) {
    std::ranges::fill(mean_, 0.0F);
    std::ranges::fill(mean_tail_, 0.0);
    differentiate(rows, r);
    const double share = 1 / static_cast<double>(copies());
    const std::span<float> gradient = pass_.gradient();
    for (std::size_t j = 0; j < mean_.size(); ++j) gradient[j] = static_cast<float>(share) * mean_[j];
    for (std::size_t j = 0; j < mean_tail_.size(); ++j) slopes_.by_tail()[j] = share * mean_tail_[j];
  }
  void add_to_mean() {
    const std::span<const float> gradient = pass_.gradient();
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += gradient[j];
    for (std::size_t j = 0; j < mean_tail_.size(); ++j) mean_tail_[j] += slopes_.by_tail()[j];
  }
  /// Each record's is rounded to the lattice by itself.
  void add_scaled_gradient(LatticeAccumulator& sum) {
    pass_.scale(squares_);
    sum.add(0, std::span<const float>(pass_.gradient()));
    const std::span<double> by_tail = slopes_.by_tail();
    for (double& slope : by_tail) slope *= squares_.back();
    if (!by_tail.empty()) sum.add(dim(), std::span<const double>(by_tail));
  }

  LayeredShape shape_;
  OutputLoss& loss_;
  Augmentation augmentation_;
  RecordPass<float> pass_;
  OutputSlopes slopes_;
  std::span<const float> tail_;
  std::optional<RandomCopies> random_;  ///< if records are augmented
  AlignedVector<float> mean_;           ///< of the gradients of a record's copies
  std::vector<double> mean_tail_;       ///< likewise, by the tail
  std::vector<float> outputs_;          ///< of the copies of the rows of a pass
  std::vector<char> kept_;              ///< of these rows
  std::vector<double> squares_;
  std::unique_ptr<LayeredDifference> difference_;
};

}  // namespace

void check_layers_of_saddles(const LayeredShape& shape, std::string_view option) {
  if (any_random(shape.plans))
    throw ConfigError(
        fmt::format("objective.{}: dropout is for the objective network; min-max problems have none", option));
  if (!TrainedPart(Sequence<float>(shape.plans, shape.in).groups(), shape.trained).is_all())
    throw ConfigError(
        fmt::format("objective.{}: adapters are for the objective network; min-max problems have none", option));
}

SaddleNetworkMaker layered(LayeredShape shape, const Augmentation& augmentation) {
  check_layers_of_saddles(shape);
  return [shape = std::move(shape), augmentation](OutputLoss& loss) {
    return std::make_unique<Layered>(shape, loss, augmentation);
  };
}

}  // namespace dpmpi
