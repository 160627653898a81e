#include "objective/plugin/trial.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/aligned.hpp"
#include "core/console/printable.hpp"
#include "core/errors.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {
namespace {

// Simulators take their time: what does not say how many records it gets at once is asked for few.
constexpr std::size_t few = 32;

constexpr std::size_t most_together = 8;  // points of a call

bool same_bits(double one, double other) {
  if (std::isnan(one) && std::isnan(other)) return true;
  return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

class PluginTrial {
 public:
  PluginTrial(const PluginLibrary& plugin, void* handle, const PluginShape& shape)
      : plugin_(plugin),
        handle_(handle),
        shape_(shape),
        dim_(plugin->dim(handle)),
        count_(plugin->rows ? shape.rows : std::min(few, shape.rows)),
        records_(count_ * shape.stride),
        labels_(count_),
        given_records_(count_ * shape.stride),
        given_labels_(count_) {
    for (std::uint64_t number = 0; number < most_together; ++number) {
      const std::vector<float> w = point(number);
      points_.insert(points_.end(), w.begin(), w.end());
    }
    make_up_records();
  }

  bool run() {
    const std::vector<double> first = losses(0, straight());
    check_finite(first);
    try_all(first);
    if (!plugin_->losses_at) return true;
    together_ = 2;
    const std::vector<double> same = losses(0, straight());
    try_all(same);
    check_close(first, same);
    return same_beside_others(same);
  }

 private:
  std::vector<float> point(std::uint64_t number) const {
    std::vector<float> w(round_up(dim_, 2));
    PublicStream(number, "plugin trial: points").normals(0, w);
    for (float& v : w) v *= 0.1F;
    w.resize(dim_);
    return w;
  }

  /// `first`: of all records at point 0.
  void try_all(const std::vector<double>& first) {
    compare(first, losses(0, straight()), "differs when it is asked for twice: it depends on what came before");
    losses(1, straight());
    compare(first, losses(0, shuffled()), "depends on the records beside it, or on earlier calls");
    for (const std::size_t i : {std::size_t{0}, count_ / 2, count_ - 1}) {
      std::vector<double> alone(first);
      alone[i] = losses(0, {i})[i];
      compare(first, alone, "is another one when the record is alone");
    }
  }

  /// `first`: of all records at point 0 beside one other point.
  bool same_beside_others(const std::vector<double>& first) {
    for (const std::size_t many : {1, 3, 8}) {
      together_ = many;
      if (!std::ranges::equal(first, losses(0, straight()), same_bits)) return false;
    }
    return true;
  }

  void make_up_records() {
    const PublicStream stream(0, "plugin trial: records");
    for (std::size_t i = 0; i < count_; ++i) {
      std::vector<float> values(round_up(shape_.columns + 1, 2));
      PublicStream(i, "plugin trial: records").normals(0, values);
      std::copy_n(values.begin(), shape_.columns,
                  records_.begin() + static_cast<std::ptrdiff_t>(i * shape_.stride));
      const float value = values[shape_.columns];
      labels_[i] = value;
      if (plugin_->label_kind == DPMPI_LABEL_SIGN) labels_[i] = value < 0 ? -1.0F : 1.0F;
      if (plugin_->label_kind == DPMPI_LABEL_CLASS) labels_[i] = static_cast<float>(i % shape_.classes);
    }
    if (!plugin_->synthetic) return;
    plugin_->synthetic(handle_, count_, records_.data(), shape_.stride, labels_.data());
    refuse_failure();
  }

  std::vector<std::size_t> straight() const {
    std::vector<std::size_t> order(count_);
    for (std::size_t i = 0; i < count_; ++i) order[i] = i;
    return order;
  }
  std::vector<std::size_t> shuffled() const {
    const auto permutation = PublicStream(0, "plugin trial: order").permutation(static_cast<std::uint32_t>(count_));
    return {permutation.begin(), permutation.end()};
  }

  /// By the record's own number, at point number p, of the records in this order.
  std::vector<double> losses(std::size_t p, const std::vector<std::size_t>& order) {
    for (std::size_t r = 0; r < order.size(); ++r) {
      std::copy_n(records_.data() + order[r] * shape_.stride, shape_.stride,
                  given_records_.data() + r * shape_.stride);
      given_labels_[r] = labels_[order[r]];
    }
    std::vector<double> given(order.size()), own(count_);
    const std::size_t most = plugin_->row_invariant == 1 ? shape_.rows : 1;
    for (std::size_t r = 0; r < order.size(); r += most)
      call(p, r, std::span(given).subspan(r, std::min(most, order.size() - r)));
    for (std::size_t r = 0; r < order.size(); ++r) own[order[r]] = given[r];
    return own;
  }

  /// The losses at point number p of the given records from number `first` on.
  void call(std::size_t p, std::size_t first, std::span<double> out) {
    const float* const records = given_records_.data() + first * shape_.stride;
    const float* const labels = given_labels_.data() + first;
    if (together_ > 0) {
      std::vector<double> all(together_ * out.size());
      plugin_->losses_at(handle_, points_.data(), together_, records, shape_.stride, out.size(), labels,
                         all.data());
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(p * out.size()), out.size(), out.begin());
    } else {
      plugin_->loss(handle_, points_.data() + p * dim_, records, shape_.stride, out.size(), labels, out.data());
    }
    refuse_failure();
  }

  /// Bit by bit; what is no number has no bits that count.
  void compare(std::span<const double> one, std::span<const double> other, const char* what) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (same_bits(one[i], other[i])) continue;
      throw PrivacyError(
          fmt::format("{}: the loss of synthetic record {} of {} {} ({} and {}). The guarantee needs a loss that "
                      "follows from parameters and record alone",
                      plugin_.name(), i + 1, count_, what, one[i], other[i]));
    }
  }

  // A comparison of NaN with NaN would let everything through.
  void check_finite(std::span<const double> losses) const {
    const auto finite = std::ranges::count_if(losses, [](double v) { return std::isfinite(v); });
    if (!plugin_->synthetic || 2 * static_cast<std::size_t>(finite) >= count_) return;
    throw ConfigError(fmt::format(
        "{}: of {} synthetic records {} have a finite loss, and nothing can be tried on the others: its function "
        "synthetic has to make up records like yours",
        plugin_.name(), count_, finite));
  }

  // They may round otherwise, and no more.
  void check_close(std::span<const double> one, std::span<const double> together) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (std::abs(one[i] - together[i]) > 1e-3 * (1 + std::abs(one[i])))
        throw ConfigError(
            fmt::format("{}: the loss of synthetic record {} of {} is {} by losses and {} by losses_at",
                        plugin_.name(), i + 1, count_, one[i], together[i]));
  }

  void refuse_failure() const {
    if (const char* const why = plugin_failure(plugin_, handle_))
      throw ConfigError(fmt::format("{} on synthetic records: {}", plugin_.name(), printable(why)));
  }

  const PluginLibrary& plugin_;
  void* handle_;
  PluginShape shape_;
  std::size_t dim_, count_;
  AlignedVector<float> records_;
  std::vector<float> labels_;
  AlignedVector<float> given_records_;
  std::vector<float> given_labels_;
  std::vector<float> points_;  // most_together of them
  std::size_t together_ = 0;   // points of a call of losses_at; 0: by loss
};

}  // namespace

bool try_plugin(const PluginLibrary& plugin, void* handle, const PluginShape& shape) {
  return PluginTrial(plugin, handle, shape).run();
}

}  // namespace dpmpi
