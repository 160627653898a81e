#include "objective/layers/layered.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "core/errors.hpp"
#include "objective/layers/adapter.hpp"
#include "objective/network/clip.hpp"
#include "objective/network/head.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

/// A record's gradient is clipped by its own norm, and added to the lattice by itself.
class LayeredNetwork final : public Objective,
                             public PointValues,
                             public GradientKernel,
                             public GradientNorms,
                             public LossPairs {
 public:
  LayeredNetwork(LayeredShape shape, Head head, std::size_t outputs, ClassWeights weights,
                 const Augmentation& augmentation)
      : shape_(std::move(shape)),
        pass_(shape_),
        head_kind_(head),
        weights_(weights),
        head_(head, outputs, weights),
        loss_of_score_(scalar_loss_of(head, weights)),
        outputs_(outputs),
        slopes_(outputs),
        squares_(pass_.layers()),
        random_(any_random(shape_.plans)) {
    if (!augmentation.any()) return;
    copies_.emplace(augmentation, shape_.in);
    mean_.resize(pass_.gradient().size());
  }

  std::size_t dim() const override { return pass_.dim(); }
  LabelKind label_kind() const override { return labels_of(head_kind_); }
  std::size_t classes() const override { return head_kind_ == Head::softmax ? outputs() : 0; }
  std::size_t outputs() const override { return outputs_.size(); }
  bool scores_are_logits() const override { return head_kind_ == Head::softmax || head_kind_ == Head::logistic; }
  const ScalarLoss* loss_of_score() const override { return loss_of_score_.get(); }
  const ClassWeights& class_weights() const override { return weights_; }
  RecordFactors heeds() const override { return {.weight = true}; }
  bool sees_copies() const override { return copies_.has_value(); }
  std::vector<ParameterGroup> groups() const override { return pass_.trained().groups(); }
  std::vector<ParameterGroup> model_groups() const override { return pass_.network().groups(); }
  std::span<const float> model(std::span<const float> w) override {
    verify(pass_.trained().is_all() || started_, "layers that are not trained have numbers");
    return pass_.whole(w);
  }
  std::vector<float> take_model(std::vector<float> numbers) override;
  ScoreRecipe score_recipe() const override;
  std::vector<std::string> structure() const override { return structure_of(shape_); }
  double flops_per_record() const override {
    return pass_.flops() * static_cast<double>(copies_ ? copies_->count() : 1);
  }
  std::size_t micro_batch_rows() const override { return 16; }
  void initialise(const PublicStream& stream, std::span<float> w) const override {
    verify(pass_.trained().is_all(), "layers that are not trained have a start");
    stream.normals(0, w);
    pass_.network().initialise(w, false);
  }
  NumericSlack gradient_slack() const override { return record_gradient_slack(dim()); }

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this, .norms = this, .pairs = this}; }

 private:
  void prepare(std::span<const float> w) override {
    verify(w.size() == dim(), "a point has dim() coordinates");
    pass_.load(w);
    verify(pass_.trained().is_all() || started_, "layers that are not trained have numbers");
    if (copies_) copies_->set_point(w);
    if (random_) draws_.point = digest_of(w);
  }
  void losses(const Rows& rows, std::span<double> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r) out[r] = head_.loss(pass_.forward(rows, r), label(rows, r));
  }
  void scores(const Rows& rows, std::span<float> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(pass_.forward(rows, r), outputs(), out.data() + r * outputs());
  }
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      differentiate(rows, r);
      if (!squares_to_factors(bound, squares_)) continue;
      pass_.scale(squares_);
      sum.begin(1);
      pass_.add_gradient(sum);
    }
  }
  void gradient_norms(const Rows& rows, std::span<double> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      differentiate(rows, r);
      out[r] = std::sqrt(std::accumulate(squares_.begin(), squares_.end(), 0.0));
    }
  }

  void prepare_probes(std::span<const double> x, std::span<const double> y) override {
    verify(x.size() == dim() && (y.empty() || y.size() == dim()), "a point has dim() coordinates");
    if (!probe_) {
      probe_ = std::make_unique<Probe>(shape_);
      if (started_) probe_->pass.start_from(*started_);
    }
    x_ = x, y_ = y;
  }
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override {
    verify(probe_ != nullptr, "prepare_probes comes before probes");
    probe_->pass.read(row, 0);
    const float of = label(row, 0);
    for (std::size_t j = 0; j < tile.count; ++j) {
      up[j] = head_.loss(probe_->at(x_, radius, tile.row(j)), of);
      down[j] =
          head_.loss(y_.empty() ? probe_->at(x_, -radius, tile.row(j)) : probe_->at(y_, radius, tile.row(j)), of);
    }
  }

  /// The same network in double, for points that no float32 number is near enough to.
  struct Probe {
    explicit Probe(const LayeredShape& shape) : pass(shape), point(pass.dim()) {}
    /// The outputs at x + step u.
    const double* at(std::span<const double> x, double step, const double* u) {
      for (std::size_t j = 0; j < point.size(); ++j) point[j] = x[j] + step * u[j];
      pass.load(point);
      return pass.forward();
    }
    RecordPass<double> pass;
    std::vector<double> point;
  };

  /// Gives those numbers to adapters that have none yet: zeros in A and B, of which nothing could be learnt.
  void start_adapters(std::span<float> numbers) const;
  /// The gradient of row r, and squares_ of its norms in the layers.
  void differentiate(const Rows& rows, std::size_t r) {
    pass_.read(rows, r);
    head_.select(rows, r);
    if (random_) draws_.record = digest_of({pass_.input(), shape_.in.size()});
    copies_ ? differentiate_copies(rows, r) : differentiate(pass_.input(), rows, r, 0);
    pass_.squares(squares_);
    if (!pass_.finite()) squares_.front() = std::numeric_limits<double>::quiet_NaN();
  }
  /// Of copy k of it. Draws end with the pass: losses and scores have none.
  void differentiate(const float* input, const Rows& rows, std::size_t r, std::size_t k) {
    draws_.copy = static_cast<std::uint32_t>(k);
    if (random_) pass_.draw(&draws_);
    std::copy_n(pass_.forward(input), outputs(), outputs_.begin());
    head_.gradient(outputs_.data(), label(rows, r), {}, slopes_.data(), nullptr);
    const double weight = rows.records.weight_of(rows.index[r]);
    for (double& slope : slopes_) slope *= weight;
    pass_.backward(slopes_);
    if (random_) pass_.draw(nullptr);
  }
  /// The mean of the gradients of the record's copies.
  void differentiate_copies(const Rows& rows, std::size_t r) {
    copies_->set_record(pass_.input());
    const std::span<float> gradient = pass_.gradient();
    std::ranges::fill(mean_, 0.0F);
    for (std::size_t k = 0; k < copies_->count(); ++k) {
      differentiate(copies_->copy(k), rows, r, k);
      for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += gradient[j];
    }
    const float share = 1 / static_cast<float>(copies_->count());
    for (std::size_t j = 0; j < mean_.size(); ++j) gradient[j] = share * mean_[j];
  }

  LayeredShape shape_;
  RecordPass<float> pass_;
  std::optional<std::vector<float>> started_;  ///< numbers of all layers, where not all are trained
  std::unique_ptr<Probe> probe_;
  std::span<const double> x_, y_;
  Head head_kind_;
  ClassWeights weights_;
  MlpHead head_;
  std::unique_ptr<ScalarLoss> loss_of_score_;
  std::vector<double> outputs_, slopes_;  ///< of one record
  std::vector<double> squares_;
  std::optional<RandomCopies> copies_;  ///< if records are augmented
  AlignedVector<float> mean_;           ///< of their gradients
  bool random_;                         ///< whether a layer is
  LayerDraws draws_;
};

// The start of an adapter follows from the shape of the network: it changes no output.
void LayeredNetwork::start_adapters(std::span<float> numbers) const {
  std::vector<float> fresh(numbers.size());
  PublicStream(0, "adapters").normals(0, fresh);
  pass_.network().initialise(fresh, false);
  const std::vector<ParameterGroup> groups = pass_.network().groups();
  for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
    if (!groups[i].name.ends_with(adapter_down)) continue;
    const std::span<float> pair = numbers.subspan(groups[i].offset, groups[i].size() + groups[i + 1].size());
    if (std::ranges::count(pair, 0.0F) == std::ssize(pair))
      std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(groups[i].offset), pair.size(), pair.begin());
  }
}

std::vector<float> LayeredNetwork::take_model(std::vector<float> numbers) {
  const TrainedPart& trained = pass_.trained();
  verify(numbers.size() == pass_.network().parameters(), "a model has the numbers of its groups");
  if (trained.is_all()) return numbers;
  start_adapters(numbers);
  std::vector<float> w(dim());
  trained.take(numbers, w);
  pass_.start_from(numbers);
  probe_.reset();
  started_ = std::move(numbers);
  return w;
}

ScoreRecipe LayeredNetwork::score_recipe() const {
  ScoreRecipe of_all = recipe_of(shape_);
  if (pass_.trained().is_all()) return of_all;
  return [this, of_all](ScoreWriter& writer, const ScoreWriter::Value& features, std::span<const float> w) {
    std::vector<float> numbers = started_.value();
    pass_.trained().put(w, numbers);
    return of_all(writer, features, numbers);
  };
}

}  // namespace

std::unique_ptr<Objective> make_layered(LayeredShape shape, Head head, std::size_t outputs,
                                        ClassWeights class_weights, const Augmentation& augmentation) {
  check_layers(shape, outputs);
  check_augmentation(augmentation, shape.in);
  return std::make_unique<LayeredNetwork>(std::move(shape), head, outputs, std::move(class_weights), augmentation);
}

}  // namespace dpmpi
