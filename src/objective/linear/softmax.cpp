#include "objective/linear/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "objective/linear/clip.hpp"

namespace dpmpi {

struct SparseSoftmax::Row {
  std::span<const std::uint32_t> column;
  std::span<const float> value;
  float bias, label, norm;
  double weight;
  Row(const Records& r, std::size_t i)
      : column(r.column.data() + r.row_begin[i], r.row_begin[i + 1] - r.row_begin[i]),
        value(r.value.data() + r.row_begin[i], column.size()),
        bias(r.bias),
        label(r.label[i]),
        norm(r.norm[i]),
        weight(r.weight_of(i)) {}
};

/// A weight matrix, transposed, so that a feature meets all its weights in one run of memory.
class SparseSoftmax::Layer {
 public:
  Layer(std::size_t features, std::size_t classes) : features_(features), classes_(classes) {}

  /// Makes room at the first call only: a method that asks for probes has no matrix in memory.
  void set(std::span<const float> w, bool biased) {
    weight_.resize(features_ * classes_);
    bias_.resize(classes_);
    for (std::size_t c = 0; c < classes_; ++c) {
      for (std::size_t j = 0; j < features_; ++j) weight_[j * classes_ + c] = w[c * features_ + j];
      bias_[c] = biased ? w[classes_ * features_ + c] : 0.0F;
    }
  }

  /// The logits of all classes.
  void apply(const Row& row, std::span<double> out) const {
    for (std::size_t c = 0; c < classes_; ++c) out[c] = static_cast<double>(row.bias) * bias_[c];
    for (std::size_t e = 0; e < row.column.size(); ++e) {
      const float* weight = weight_.data() + row.column[e] * classes_;
      const double value = row.value[e];
      for (std::size_t c = 0; c < classes_; ++c) out[c] += value * weight[c];
    }
  }

 private:
  std::size_t features_, classes_;
  std::vector<float> weight_, bias_;
};

namespace {

/// Whether a label names a class: not so for the NaN of an empty slot.
bool is_class(float label, std::size_t classes) { return label >= 0 && label < static_cast<float>(classes); }

double cross_entropy(std::span<const double> logits, float label) {
  if (!is_class(label, logits.size())) return std::numeric_limits<double>::quiet_NaN();
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double l : logits) sum += std::exp(l - top);
  return std::log(sum) + (top - logits[static_cast<std::size_t>(label)]);
}

/// probability = softmax(logits).
void softmax(std::span<const double> logits, std::span<double> probability) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) sum += probability[c] = std::exp(logits[c] - top);
  for (double& p : probability) p /= sum;
}

}  // namespace

SparseSoftmax::SparseSoftmax(const ObjectiveFacts& facts, std::size_t classes, ClassWeights weights)
    : features_(facts.features),
      classes_(classes),
      bias_(facts.bias),
      weights_(std::move(weights)),
      at_(std::make_unique<Layer>(features_, classes_)),
      logits_(classes),
      delta_(classes),
      at_x_(classes),
      at_y_(classes),
      along_(classes),
      moved_(classes) {
  verify(facts.storage == Storage::sparse_f32, "this softmax is for sparse records");
  if (features_ == 0 || classes_ < 2) throw DataError("softmax needs features and at least two classes");
  verify(weights_.empty() || weights_.size() == classes_, "a weight for each class");
}

SparseSoftmax::~SparseSoftmax() = default;

std::vector<ParameterGroup> SparseSoftmax::groups() const {
  std::vector<ParameterGroup> all{{"weight", 0, classes_, features_}};
  if (bias_ != 0) all.push_back({"bias", classes_ * features_, classes_, 1});
  return all;
}

void SparseSoftmax::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point of another dimension");
  at_->set(w, bias_ != 0);
}

void SparseSoftmax::check(const Records& records) const {
  verify(records.features == features_ && records.storage == Storage::sparse_f32 && records.bias == bias_,
         "records of another shape than the objective was made for");
}

double SparseSoftmax::loss(std::span<const double> logits, float label) const {
  const double plain = cross_entropy(logits, label);
  return weights_.empty() ? plain : weights_.of_class(label) * plain;
}

void SparseSoftmax::losses(const Rows& rows, std::span<double> out) {
  check(rows.records);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row(rows.records, rows.index[i]);
    at_->apply(row, logits_);
    out[i] = loss(logits_, row.label);
  }
}

void SparseSoftmax::scores(const Rows& rows, std::span<float> out) {
  check(rows.records);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    at_->apply(Row(rows.records, rows.index[i]), logits_);
    for (std::size_t c = 0; c < classes_; ++c) out[i * classes_ + c] = static_cast<float>(logits_[c]);
  }
}

void SparseSoftmax::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  check(rows.records);
  for (std::uint32_t i : rows.index) {
    const Row row(rows.records, i);
    if (output_delta(row)) add_outer(row, bound, sum);
  }
}

/// delta_ = softmax(logits) - e_y, times the weights of y and of the record; false if the label is no class.
bool SparseSoftmax::output_delta(const Row& row) {
  if (!is_class(row.label, classes_)) return false;
  at_->apply(row, logits_);
  softmax(logits_, delta_);
  delta_[static_cast<std::size_t>(row.label)] -= 1;
  const double weight = row.weight * weights_.of_class(row.label);
  if (weight != 1)
    for (double& d : delta_) d *= weight;
  return true;
}

void SparseSoftmax::gradient_norms(const Rows& rows, std::span<double> out) {
  check(rows.records);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row(rows.records, rows.index[i]);
    double square = 0;
    if (output_delta(row))
      for (const double d : delta_) square += d * d;
    else
      square = std::numeric_limits<double>::quiet_NaN();
    out[i] = std::sqrt(square) * row.norm;
  }
}

/// Adds clip(delta_ (x, bias)^T); nothing where delta_ or the record is not finite (N7).
void SparseSoftmax::add_outer(const Row& row, const L2Bound& bound, LatticeAccumulator& sum) const {
  double square = 0;
  for (double d : delta_) square += d * d;
  const double norm = std::sqrt(square) * row.norm;
  sum.begin(1);
  if (!std::isfinite(norm) || !std::isfinite(row.norm) || row.norm < 0) return;
  const double factor = norm > bound.clip ? bound.clip / norm * sum.lattice().scale() : sum.lattice().scale();
  std::int32_t* hot = sum.int32_scratch();
  for (std::size_t c = 0; c < classes_; ++c) {
    const float scale = towards_zero(delta_[c] * factor);
    for (std::size_t e = 0; e < row.column.size(); ++e)
      hot[c * features_ + row.column[e]] += static_cast<std::int32_t>(std::lrint(scale * row.value[e]));
    if (bias_ != 0) hot[classes_ * features_ + c] += static_cast<std::int32_t>(std::lrint(scale * row.bias));
  }
}

/// logits += factor * (W x + b) for parameters w in double, in the order of the record's entries.
void SparseSoftmax::add_logits(const Row& row, double factor, const double* w, std::span<double> logits) const {
  for (std::size_t c = 0; c < classes_; ++c) {
    const double* weight = w + c * features_;
    double sum = bias_ != 0 ? static_cast<double>(row.bias) * w[classes_ * features_ + c] : 0.0;
    for (std::size_t e = 0; e < row.column.size(); ++e)
      sum += static_cast<double>(row.value[e]) * weight[row.column[e]];
    logits[c] += factor * sum;
  }
}

void SparseSoftmax::prepare_probes(std::span<const double> x, std::span<const double> y) {
  verify(x.size() == dim() && (y.empty() || y.size() == dim()), "a point of another dimension");
  probe_x_ = x;
  probe_y_ = y;
}

void SparseSoftmax::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                          std::span<double> down) {
  check(row.records);
  const Row record(row.records, row.index[0]);
  const bool pair = !probe_y_.empty();
  for (auto* logits : {&at_x_, &at_y_}) std::fill(logits->begin(), logits->end(), 0.0);
  add_logits(record, 1, probe_x_.data(), at_x_);
  add_logits(record, 1, pair ? probe_y_.data() : probe_x_.data(), at_y_);
  for (std::size_t j = 0; j < tile.count; ++j) {
    std::fill(along_.begin(), along_.end(), 0.0);
    add_logits(record, radius, tile.row(j), along_);
    std::transform(at_x_.begin(), at_x_.end(), along_.begin(), moved_.begin(), std::plus<>());
    up[j] = loss(moved_, record.label);
    for (std::size_t c = 0; c < classes_; ++c) moved_[c] = pair ? at_y_[c] + along_[c] : at_y_[c] - along_[c];
    down[j] = loss(moved_, record.label);
  }
}

NumericSlack SparseSoftmax::gradient_slack() const { return linear_slack; }

}  // namespace dpmpi
