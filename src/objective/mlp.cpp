#include "dpmpi/objective/mlp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/objective/gather.hpp"
#include "dpmpi/objective/mlp_clip.hpp"
#include "dpmpi/objective/mlp_difference.hpp"
#include "dpmpi/objective/mlp_gradient.hpp"
#include "dpmpi/objective/mlp_head.hpp"
#include "dpmpi/objective/mlp_network.hpp"
#include "dpmpi/objective/mlp_probe.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t micro_rows = 128;

/// Calls kernel(part, first) for consecutive parts of at most `at_once` rows.
template <class Kernel>
void for_each_part(const Rows& rows, std::size_t at_once, Kernel kernel) {
  for (std::size_t first = 0; first < rows.size(); first += at_once)
    kernel(Rows{rows.records, rows.index.subspan(first, std::min(at_once, rows.size() - first))}, first);
}

float label(const Rows& rows, std::size_t r) { return rows.records.label[rows.index[r]]; }

/// x * factor, and 0 in place of subnormal numbers, whose rounding is not relative to them.
float scaled(float x, float factor) {
  const float y = x * factor;
  return std::fabs(y) < std::numeric_limits<float>::min() ? 0.0F : y;
}

class Mlp final : public Objective {
 public:
  explicit Mlp(MlpShape shape)
      : shape_(std::move(shape)),
        head_(shape_.head, shape_.units.back()),
        input_(micro_rows, shape_.width(0)),
        network_(shape_, micro_rows),
        gradient_(shape_, micro_rows),
        direction_(packed_layer<float>(shape_, 0)),
        base_(micro_rows, shape_.width(1)),
        slope_(micro_rows, shape_.width(1)),
        point_(shape_.dim()),
        factors_(shape_.layers()) {}

  std::size_t dim() const override { return shape_.dim(); }
  LabelKind label_kind() const override;
  std::size_t classes() const override { return shape_.head == Head::softmax ? outputs() : 0; }
  std::size_t outputs() const override { return shape_.units.back(); }
  bool linear_softmax() const override { return shape_.layers() == 1 && shape_.head == Head::softmax; }
  std::vector<ParameterGroup> groups() const override;
  double flops_per_record() const override;
  std::size_t micro_batch_rows() const override { return micro_rows; }
  void initialise(const PublicStream& stream, std::span<float> w) const override;

  void prepare(std::span<const float> w) override;
  void prepare_pair(std::span<const float> w, std::span<const float> v) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void directional_differences(double xi, std::span<const float> directions, std::size_t K, const Rows& rows,
                               std::span<double> out) override;
  void prepare_probes(std::span<const double> x, std::span<const double> y) override;
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override;
  NumericSlack gradient_slack() const override;
  NumericSlack difference_slack() const override { return {MlpDifference::clip_slack, micro_rows}; }

 private:
  Scratch<float>& level(std::size_t l) { return l == 0 ? input_ : network_.level(l); }
  std::size_t load_input(const Rows& rows);
  void evaluate(const Rows& rows);
  void move_to(float step, std::span<const float> direction, std::size_t rows);
  void clip_row(std::size_t row, const L2Bound& bound);
  void zero_row(std::size_t row);

  MlpShape shape_;
  MlpHead head_;
  Scratch<float> input_;
  MlpNetwork<float> network_;
  LayerGradient<float> gradient_;
  PackedMatrix<float> direction_;  ///< first layer of a direction
  Scratch<float> base_, slope_;    ///< sums of the first layer at w, and along a direction
  std::vector<float> point_;       ///< deeper layers of w + step * direction
  std::vector<double> factors_;
  std::unique_ptr<MlpDifference> difference_;
  std::unique_ptr<MlpProbe> probe_;
  std::span<const float> w_;
};

LabelKind Mlp::label_kind() const {
  if (shape_.head == Head::softmax) return LabelKind::class_;
  return shape_.head == Head::logistic || shape_.head == Head::ramp ? LabelKind::sign : LabelKind::real;
}

std::vector<ParameterGroup> Mlp::groups() const {
  std::vector<ParameterGroup> all;
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const std::string prefix = shape_.layers() == 1 ? "" : fmt::format("layer{}.", l + 1);
    all.push_back({prefix + "weight", shape_.weight_offset(l), shape_.outputs(l), shape_.inputs(l)});
    if (shape_.has_bias(l)) all.push_back({prefix + "bias", shape_.bias_offset(l), shape_.outputs(l), 1});
  }
  return all;
}

// Forward and weight gradient use every parameter, the backward pass those behind the first layer.
double Mlp::flops_per_record() const {
  return 6.0 * static_cast<double>(dim()) - 2.0 * static_cast<double>(shape_.parameters(0));
}

// Variances that keep the scale of signals: He et al. (2015) before relu, Glorot and Bengio (2010) before tanh and
// softplus. A single layer starts at zero, the centre of a convex problem.
void Mlp::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  std::fill(w.begin(), w.end(), 0.0F);
  if (shape_.layers() == 1) return;
  std::vector<float> normals(dim());
  stream.normals(0, normals);
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const auto in = static_cast<double>(shape_.inputs(l)), out = static_cast<double>(shape_.outputs(l));
    const bool relu = shape_.activation == Activation::relu && l + 1 < shape_.layers();
    const auto scale = static_cast<float>(std::sqrt(relu ? 2.0 / in : 2.0 / (in + out)));
    for (std::size_t j = shape_.weight_offset(l); j < shape_.bias_offset(l); ++j) w[j] = scale * normals[j];
  }
}

void Mlp::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point has dim() coordinates");
  w_ = w;
  network_.load(w);
}

void Mlp::prepare_pair(std::span<const float> w, std::span<const float> v) {
  verify(w.size() == dim() && v.size() == dim(), "a point has dim() coordinates");
  if (!difference_) difference_ = std::make_unique<MlpDifference>(shape_);
  difference_->prepare(w, v);
}

/// Fills level 0, and returns the padded number of rows.
std::size_t Mlp::load_input(const Rows& rows) {
  verify(rows.records.features == shape_.inputs(0) && rows.records.bias == shape_.input_bias,
         "records have the features and the constant column that the network was made for");
  const std::size_t padded = round_up(rows.size(), 16);
  gather_rows(rows, input_.width, input_.row(0));
  std::fill(input_.row(rows.size()), input_.row(padded), 0.0F);
  return padded;
}

void Mlp::evaluate(const Rows& rows) { network_.forward(input_, load_input(rows)); }

void Mlp::losses(const Rows& rows, std::span<double> out) {
  for_each_part(rows, micro_rows, [&](const Rows& part, std::size_t first) {
    evaluate(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      out[first + r] = head_.loss(network_.level(shape_.layers()).row(r), label(part, r));
  });
}

void Mlp::scores(const Rows& rows, std::span<float> out) {
  for_each_part(rows, micro_rows, [&](const Rows& part, std::size_t first) {
    evaluate(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      std::copy_n(network_.level(shape_.layers()).row(r), outputs(), out.data() + (first + r) * outputs());
  });
}

void Mlp::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(micro_rows, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    const std::size_t padded = load_input(part), last = shape_.layers();
    network_.forward(input_, padded);
    for (std::size_t r = 0; r < part.size(); ++r)
      head_.gradient(network_.level(last).row(r), label(part, r), network_.delta(last).row(r));
    network_.backward(padded);
    for (std::size_t r = 0; r < part.size(); ++r) clip_row(r, bound);
    for (std::size_t r = part.size(); r < padded; ++r) zero_row(r);

    sum.begin(part.size());
    for (std::size_t l = 0; l < last; ++l) {
      const OuterProducts<float> term{network_.delta(l + 1), level(l)};
      gradient_.add(l, {&term, 1}, padded, sum);
    }
  });
}

void Mlp::clip_row(std::size_t row, const L2Bound& bound) {
  for (std::size_t l = 0; l < shape_.layers(); ++l)
    factors_[l] = squared_norm(network_.delta(l + 1).row(row), shape_.width(l + 1)) *
                  squared_norm(level(l).row(row), shape_.width(l));
  if (!squares_to_factors(bound, factors_)) {
    zero_row(row);
    return;
  }
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    if (factors_[l] == 1) continue;
    const float factor = scaled(1, static_cast<float>(factors_[l]));
    float* delta = network_.delta(l + 1).row(row);
    for (std::size_t j = 0; j < shape_.width(l + 1); ++j) delta[j] = scaled(delta[j], factor);
  }
}

/// Zero factors alone would not do: 0 * inf is NaN.
void Mlp::zero_row(std::size_t row) {
  const auto zero = [row](Scratch<float>& scratch) { std::fill_n(scratch.row(row), scratch.width, 0.0F); };
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    zero(level(l));
    zero(network_.delta(l + 1));
  }
}

// The squares of float32 numbers are exact in double and cannot overflow or vanish there, so a norm of S terms is
// off by less than (S + 8) 2^-53. The factor and each scaled delta round to float32 (2^-24 each, subnormals go to
// zero); the product delta a is not rounded before it enters the sum.
NumericSlack Mlp::gradient_slack() const {
  std::size_t terms = 0;
  for (std::size_t l = 0; l < shape_.layers(); ++l) terms += shape_.width(l) + shape_.width(l + 1);
  return {3 * 0x1p-24 + static_cast<double>(terms + 8) * 0x1p-53, micro_rows};
}

void Mlp::add_clipped_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(difference_ != nullptr, "prepare_pair comes before differences");
  const std::size_t at_once = std::min(MlpDifference::rows_at_once(), sum.rows_at_once());
  for_each_part(rows, at_once, [&](const Rows& part, std::size_t) { difference_->add(part, bound, sum); });
}

// X (W + xi U)^T = X W^T + xi X U^T: the first layer costs one product for w and one per direction, for both signs.
void Mlp::directional_differences(double xi, std::span<const float> directions, std::size_t K, const Rows& rows,
                                  std::span<double> out) {
  verify(directions.size() == K * dim() && out.size() == rows.size() * K, "K directions, K differences per record");
  const auto step = static_cast<float>(xi);
  const double inverse = 1 / (2 * static_cast<double>(step));
  for_each_part(rows, micro_rows, [&](const Rows& part, std::size_t first) {
    const std::size_t padded = load_input(part);
    const Scratch<float>& logits = network_.level(shape_.layers());
    network_.first_sums(input_, padded, base_);
    for (std::size_t k = 0; k < K; ++k) {
      const auto direction = directions.subspan(k * dim(), dim());
      double* difference = out.data() + first * K + k;
      pack_layer(shape_, 0, direction, direction_);
      direction_.multiply(input_.row(0), input_.width, padded, slope_.row(0), slope_.width);
      move_to(step, direction, padded);
      for (std::size_t r = 0; r < part.size(); ++r) difference[r * K] = head_.loss(logits.row(r), label(part, r));
      move_to(-step, direction, padded);
      for (std::size_t r = 0; r < part.size(); ++r) {
        const double slope = (difference[r * K] - head_.loss(logits.row(r), label(part, r))) * inverse;
        difference[r * K] = std::isfinite(slope) ? slope : 0.0;
      }
    }
  });
  network_.load(w_, 1);
}

/// Evaluates the network at w + step * direction from base_ and slope_.
void Mlp::move_to(float step, std::span<const float> direction, std::size_t rows) {
  for (std::size_t j = shape_.weight_offset(1); j < dim(); ++j) point_[j] = w_[j] + step * direction[j];
  network_.load(point_, 1);
  float* sums = network_.level(1).row(0);
  const float* base = base_.row(0);
  const float* slope = slope_.row(0);
  for (std::size_t j = 0; j < rows * base_.width; ++j) sums[j] = base[j] + step * slope[j];
  network_.activate(1, rows);
  network_.forward_from(1, rows);
}

void Mlp::prepare_probes(std::span<const double> x, std::span<const double> y) {
  if (!probe_) probe_ = std::make_unique<MlpProbe>(shape_);
  probe_->prepare(x, y);
}

void Mlp::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                std::span<double> down) {
  verify(probe_ != nullptr, "prepare_probes comes before probes");
  probe_->losses(row, radius, tile, up, down);
}

}  // namespace

std::unique_ptr<Objective> make_mlp(MlpShape shape) {
  verify(shape.units.size() >= 2, "a network has inputs and outputs");
  for (const std::size_t units : shape.units)
    if (units == 0) throw ConfigError("a layer of the network has no units (or the records have no features)");
  return std::make_unique<Mlp>(std::move(shape));
}

}  // namespace dpmpi
