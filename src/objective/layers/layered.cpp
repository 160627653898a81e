#include "objective/layers/layered.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/memory.hpp"
#include "objective/copy_rows.hpp"
#include "objective/layers/sequence.hpp"
#include "objective/loss_of_score.hpp"
#include "objective/network/clip.hpp"
#include "objective/network/head.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

/// A record's gradient is made in cache, whole, clipped by its own norm, and added to the lattice by itself.
class LayeredNetwork final : public Objective,
                             public PointValues,
                             public GradientKernel,
                             public GradientNorms,
                             public LossPairs,
                             public LossOfScore {
 public:
  LayeredNetwork(LayerPlans plans, const Volume& in, Head head, std::size_t outputs, ClassWeights weights)
      : plans_(std::move(plans)),
        network_(plans_, in),
        head_kind_(head),
        weights_(weights),
        head_(head, outputs, weights),
        loss_of_score_(scalar_loss_of(head, weights)),
        groups_(network_.groups()),
        layers_(layers_of(groups_)),
        features_(in.size() + 16),
        input_(room_for<float>(in)),
        outputs_(outputs),
        output_slopes_(outputs),
        delta_(room_for<float>(network_.out())),
        gradient_(network_.parameters()),
        squares_(layers_.size()) {}

  std::size_t dim() const override { return gradient_.size(); }
  LabelKind label_kind() const override { return labels_of(head_kind_); }
  std::size_t classes() const override { return head_kind_ == Head::softmax ? outputs() : 0; }
  std::size_t outputs() const override { return outputs_.size(); }
  bool scores_are_logits() const override { return head_kind_ == Head::softmax || head_kind_ == Head::logistic; }
  const ScalarLoss* loss_of_score() const override { return loss_of_score_.get(); }
  const ClassWeights& class_weights() const override { return weights_; }
  RecordFactors heeds() const override { return {.weight = true}; }
  std::vector<ParameterGroup> groups() const override { return groups_; }
  std::vector<std::string> structure() const override {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < network_.size(); ++i) lines.push_back(line_of(plans_[i].text, network_[i]));
    return lines;
  }
  /// Two operations a multiplication, and twice as many backwards.
  double flops_per_record() const override { return 6 * network_.multiply_adds(); }
  std::size_t micro_batch_rows() const override { return 16; }
  void initialise(const PublicStream& stream, std::span<float> w) const override {
    stream.normals(0, w);
    network_.initialise(w, false);
  }

  // The squares of float32 numbers are exact in double, so a norm of S terms is off by less than (S + 8) 2^-53.
  // The factor and each scaled number round to float32 (2^-24 each; subnormal numbers go to zero).
  NumericSlack gradient_slack() const override {
    return {.clip = 3 * 0x1p-24 + static_cast<double>(dim() + 8) * 0x1p-53, .summed_rows = 1};
  }

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this, .norms = this, .pairs = this}; }

 private:
  /// The parameters of one layer, for its own clip.
  struct Range {
    std::size_t first, size;
  };
  static std::vector<Range> layers_of(const std::vector<ParameterGroup>& groups) {
    std::vector<Range> ranges;
    std::string before;
    for (const ParameterGroup& group : groups) {
      const std::string layer = group.name.substr(0, group.name.rfind('.'));
      if (ranges.empty() || layer != before) ranges.push_back({group.offset, 0});
      ranges.back().size += group.size();
      before = layer;
    }
    return ranges;
  }

  static std::string line_of(const std::string& text, const Layer<float>& layer) {
    const Volume& out = layer.out();
    std::string line = out.positions() == 1
                           ? fmt::format("{}: {}", text, out.channels)
                           : fmt::format("{}: {}x{}x{}", text, out.channels, out.height, out.width);
    if (layer.parameters() > 0) line += fmt::format(", {} parameters", layer.parameters());
    if (layer.multiply_adds() > 0) line += fmt::format(", {:.0f} products", layer.multiply_adds());
    return line;
  }

  void prepare(std::span<const float> w) override {
    verify(w.size() == dim(), "a point has dim() coordinates");
    network_.load(w);
  }
  void losses(const Rows& rows, std::span<double> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r) out[r] = head_.loss(forward(rows, r), label(rows, r));
  }
  void scores(const Rows& rows, std::span<float> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(forward(rows, r), outputs(), out.data() + r * outputs());
  }
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      differentiate(rows, r);
      if (!squares_to_factors(bound, squares_)) continue;
      for (std::size_t l = 0; l < layers_.size(); ++l) scale(layers_[l], squares_[l]);
      sum.begin(1);
      sum.add(0, std::span<const float>(gradient_));
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
    if (!probe_) probe_ = std::make_unique<Probe>(plans_, network_.in());
    x_ = x, y_ = y;
  }
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override {
    verify(probe_ != nullptr, "prepare_probes comes before probes");
    read(row, 0);
    std::ranges::copy(input_, probe_->input.begin());
    const float of = label(row, 0);
    for (std::size_t j = 0; j < tile.count; ++j) {
      up[j] = head_.loss(probe_->at(x_, radius, tile.row(j)), of);
      down[j] =
          head_.loss(y_.empty() ? probe_->at(x_, -radius, tile.row(j)) : probe_->at(y_, radius, tile.row(j)), of);
    }
  }

  /// The same network in double, for points that no float32 number is near enough to.
  struct Probe {
    Probe(const LayerPlans& plans, const Volume& in)
        : network(plans, in), input(room_for<double>(in)), point(network.parameters()) {}
    /// The outputs at x + step u.
    const double* at(std::span<const double> x, double step, const double* u) {
      for (std::size_t j = 0; j < point.size(); ++j) point[j] = x[j] + step * u[j];
      network.load(point);
      return network.forward(input.data());
    }
    Sequence<double> network;
    AlignedVector<double> input;
    std::vector<double> point;
  };

  /// Row r to input_.
  void read(const Rows& rows, std::size_t r) {
    const Volume& in = network_.in();
    verify(rows.records.features == in.size(), "records have the features that the network was made for");
    copy_rows(Rows{rows.records, rows.index.subspan(r, 1)}, features_.size(), features_.data());
    for (std::size_t p = 0; p < in.positions(); ++p)
      for (std::size_t c = 0; c < in.channels; ++c) input_[p * in.channels + c] = features_[c * in.positions() + p];
  }

  /// The outputs for row r.
  const float* forward(const Rows& rows, std::size_t r) {
    read(rows, r);
    return network_.forward(input_.data());
  }

  /// gradient_ of row r, and squares_ of its norms in the layers.
  void differentiate(const Rows& rows, std::size_t r) {
    std::copy_n(forward(rows, r), outputs(), outputs_.begin());
    head_.select(rows, r);
    head_.gradient(outputs_.data(), label(rows, r), {}, output_slopes_.data(), nullptr);
    const double weight = rows.records.weight_of(rows.index[r]);
    for (std::size_t k = 0; k < outputs(); ++k) delta_[k] = static_cast<float>(weight * output_slopes_[k]);
    network_.backward(delta_.data(), gradient_.data(), false);
    for (std::size_t l = 0; l < layers_.size(); ++l)
      squares_[l] = squared_norm(gradient_.data() + layers_[l].first, layers_[l].size);
  }

  void scale(const Range& layer, double by) {
    if (by == 1) return;
    const auto factor = scaled(1, static_cast<float>(by));
    for (float& x : std::span(gradient_).subspan(layer.first, layer.size)) x = scaled(x, factor);
  }

  LayerPlans plans_;
  Sequence<float> network_;
  std::unique_ptr<Probe> probe_;
  std::span<const double> x_, y_;
  Head head_kind_;
  ClassWeights weights_;
  MlpHead head_;
  std::unique_ptr<ScalarLoss> loss_of_score_;
  std::vector<ParameterGroup> groups_;
  std::vector<Range> layers_;
  AlignedVector<float> features_,
      input_;                                    ///< of one record: as it is stored, and as layers take it
  std::vector<double> outputs_, output_slopes_;  ///< of one record
  AlignedVector<float> delta_, gradient_;        ///< likewise
  std::vector<double> squares_;
};

}  // namespace

std::unique_ptr<Objective> make_layered(const LayerPlans& plans, const Volume& in, Head head, std::size_t outputs,
                                        ClassWeights class_weights) {
  const Volume out = out_of(plans, in);
  if (out != Volume{outputs, 1, 1})
    throw ConfigError(fmt::format(
        "the last layer gives {} channels of {}x{} where the loss takes {} number{}: {}let the last layer be dense {}",
        out.channels, out.height, out.width, outputs, outputs == 1 ? "" : "s",
        out.positions() == 1 ? "" : "flatten, and ", outputs));
  // In float32, and once more in double for pairs of losses.
  const double bytes = (sizeof(float) + sizeof(double)) * numbers_of(plans, in);
  if (bytes > static_cast<double>(available_memory()))
    throw ConfigError(fmt::format("they need about {:.3g} GB a rank, and {:.3g} GB are free: make them smaller",
                                  bytes * 1e-9, static_cast<double>(available_memory()) * 1e-9));
  auto network = std::make_unique<LayeredNetwork>(plans, in, head, outputs, std::move(class_weights));
  if (network->dim() == 0) throw ConfigError("no layer has parameters");
  return network;
}

}  // namespace dpmpi
