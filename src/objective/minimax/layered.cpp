// The network of layers of min-max problems.

#include <algorithm>
#include <memory>

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

/// Gradients of one record at two points in double, where what cancels leaves enough.
class LayeredDifference {
 public:
  LayeredDifference(const LayeredShape& shape, OutputLoss& loss)
      : at_w_(shape, loss), at_v_(shape, loss), difference_(at_w_.pass.dim() + loss.slopes()) {}

  void load(std::span<const float> w, std::span<const float> v) {
    at_w_.load(w);
    at_v_.load(v);
  }
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      at_w_.differentiate(rows, r);
      if (!at_w_.pass.finite()) continue;
      at_v_.differentiate(rows, r);
      const std::size_t dim = at_w_.pass.dim();
      for (std::size_t j = 0; j < dim; ++j) difference_[j] = at_w_.pass.gradient()[j] - at_v_.pass.gradient()[j];
      for (std::size_t j = dim; j < difference_.size(); ++j)
        difference_[j] = at_w_.slopes.by_tail()[j - dim] - at_v_.slopes.by_tail()[j - dim];
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
    void differentiate(const Rows& rows, std::size_t r) {
      slopes.take(pass.forward(rows, r), rows, r, tail);
      pass.backward(slopes.by_outputs());
    }
    RecordPass<double> pass;
    OutputSlopes slopes;
    std::vector<double> weights;
    std::span<const float> tail;
  };

  Point at_w_, at_v_;
  std::vector<double> difference_;
};

class Layered final : public SaddleNetwork {
 public:
  Layered(LayeredShape shape, OutputLoss& loss)
      : shape_(std::move(shape)),
        loss_(loss),
        pass_(shape_),
        slopes_(loss, pass_.outputs()),
        outputs_(records_at_once * pass_.outputs()),
        kept_(records_at_once),
        squares_(pass_.layers() + (loss.slopes() > 0 ? 1 : 0)) {}

  std::size_t dim() const override { return pass_.dim(); }
  std::size_t outputs() const override { return pass_.outputs(); }
  std::size_t rows_at_once() const override { return records_at_once; }
  double flops() const override { return pass_.flops(); }
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
  }
  void load_pair(std::span<const float> w, std::span<const float> v) override {
    if (!difference_) difference_ = std::make_unique<LayeredDifference>(shape_, loss_);
    difference_->load(w, v);
  }
  void forward(const Rows& rows) override {
    for (std::size_t r = 0; r < rows.size(); ++r) forward(rows, r);
  }
  void add_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    sum.begin(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      slopes_.take(forward(rows, r), rows, r, tail_);
      pass_.backward(slopes_.by_outputs());
      pass_.squares(squares_);
      const std::span<double> by_tail = slopes_.by_tail();
      if (!by_tail.empty()) squares_.back() = squared_norm(by_tail.data(), by_tail.size());
      kept_[r] = pass_.finite() && squares_to_factors(bound, squares_);
      if (kept(r)) add_scaled_gradient(sum);
    }
  }
  const float* outputs_of(std::size_t row) const override { return outputs_.data() + row * outputs(); }
  bool kept(std::size_t row) const override { return kept_[row] != 0; }
  void add_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    verify(difference_ != nullptr, "load_pair comes before differences");
    difference_->add(rows, bound, sum);
  }

 private:
  static constexpr std::size_t records_at_once = 16;

  const float* forward(const Rows& rows, std::size_t r) {
    return std::copy_n(pass_.forward(rows, r), outputs(), outputs_.data() + r * outputs()) - outputs();
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
  RecordPass<float> pass_;
  OutputSlopes slopes_;
  std::span<const float> tail_;
  std::vector<float> outputs_;  ///< of the rows of a pass
  std::vector<char> kept_;      ///< likewise
  std::vector<double> squares_;
  std::unique_ptr<LayeredDifference> difference_;
};

}  // namespace

SaddleNetworkMaker layered(LayeredShape shape) {
  if (any_random(shape.plans))
    throw ConfigError("objective.layers: dropout is for the objective network; auc and worst_group have none");
  return [shape = std::move(shape)](OutputLoss& loss) { return std::make_unique<Layered>(shape, loss); };
}

}  // namespace dpmpi
