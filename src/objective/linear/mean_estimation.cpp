#include "objective/linear/mean_estimation.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "objective/copy_rows.hpp"
#include "objective/joint_clip.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
namespace {

/// |x - s|^2.
double squared_distance(std::span<const double> x, std::span<const double> s) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += (x[j] - s[j]) * (x[j] - s[j]);
  return sum;
}

}  // namespace

Mean::Mean(const ObjectiveFacts& facts)
    : features_(facts.features), bias_(facts.bias), record_(facts.features + (facts.bias != 0 ? 1 : 0)) {
  if (features_ == 0) throw DataError("records without features");
}

std::vector<ParameterGroup> Mean::groups() const {
  std::vector<ParameterGroup> all{{"mean", 0, 1, features_}};
  if (bias_ != 0) all.push_back({"bias", features_, 1, 1});
  return all;
}

void Mean::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point of another dimension");
  at_.assign(w.begin(), w.end());
  vector_.resize(dim());
}

bool Mean::load(const Records& records, std::uint32_t i) {
  verify(records.features == features_ && records.bias == bias_, "records of another shape");
  if (!takes_part(records, i)) return false;
  copy_rows(Rows{records, std::span(&i, 1)}, record_.size(), record_.data());
  return true;
}

double Mean::half_square(std::span<const double> x) const { return squared_distance(x, record_) / 2; }

void Mean::losses(const Rows& rows, std::span<double> out) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    out[r] = load(rows.records, rows.index[r]) ? half_square(at_) : not_a_number;
}

void Mean::scores(const Rows& rows, std::span<float> out) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    out[r] = static_cast<float>(load(rows.records, rows.index[r]) ? std::sqrt(2 * half_square(at_)) : not_a_number);
}

void Mean::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(bound.clipping == Clipping::flat, "a mean is one vector: it has no layers to clip by themselves");
  for (const std::uint32_t i : rows.index) {
    if (!load(rows.records, i)) continue;
    for (std::size_t j = 0; j < dim(); ++j) vector_[j] = at_[j] - record_[j];
    add_clipped_jointly(vector_, bound.clip, sum);
  }
}

void Mean::gradient_norms(const Rows& rows, std::span<double> out) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    out[r] = load(rows.records, rows.index[r]) ? std::sqrt(squared_distance(at_, record_)) : not_a_number;
}

void Mean::prepare_probes(std::span<const double> x, std::span<const double> y) {
  verify(x.size() == dim() && (y.empty() || y.size() == dim()), "a point of another dimension");
  probe_x_.assign(x.begin(), x.end());
  probe_y_.assign(y.begin(), y.end());
}

// f(x + radius u) = f(x) + radius <x - s, u> + radius^2 |u|^2 / 2.
void Mean::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                 std::span<double> down) {
  const bool counts = load(row.records, row.index[0]), pair = !probe_y_.empty();
  const std::span<const double> back = pair ? probe_y_ : probe_x_;
  const double at_x = counts ? half_square(probe_x_) : not_a_number,
               at_y = counts ? half_square(back) : not_a_number;
  for (std::size_t j = 0; j < tile.count; ++j) {
    const double* u = tile.row(j);
    double along_x = 0, along_y = 0, square = 0;
    for (std::size_t i = 0; i < dim(); ++i) {
      along_x += (probe_x_[i] - record_[i]) * u[i];
      along_y += (back[i] - record_[i]) * u[i];
      square += u[i] * u[i];
    }
    up[j] = at_x + radius * along_x + radius * radius / 2 * square;
    down[j] = at_y + (pair ? radius : -radius) * along_y + radius * radius / 2 * square;
  }
}

NumericSlack Mean::gradient_slack() const { return joint_clip_slack(dim()); }

namespace {

struct MeanBuilder final : ObjectiveEntry::Builder {
  void declare(Options&) override {}
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Mean>(facts);
  }
  LabelKind label_kind() const override { return LabelKind::real; }
};

const ObjectiveRegistration mean{
    {"mean", "|w - x|^2 / 2: mean estimation; labels do not count", make_builder<MeanBuilder>}};

}  // namespace
}  // namespace dpmpi
