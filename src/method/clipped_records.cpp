#include "method/clipped_records.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "core/numbers/lattice.hpp"

namespace dpmpi {
namespace {

// A kernel shows a record's vector by its sum over this record alone. It clips there, too: at a few clips in the
// beginning, and at more until the vector is within. What lattice points round off is far below a clip.
class KernelSizes {
 public:
  KernelSizes(Kernel kernel, std::size_t dim, const L2Bound& bound, std::vector<ClippedPart> parts)
      : kernel_(std::move(kernel)),
        bound_(bound),
        parts_(std::move(parts)),
        sum_(dim, lattice(first), first * bound.clip) {}

  double operator()(const Records& records, std::uint32_t row, std::uint32_t slot) {
    double size = 0;
    for (double factor = first; factor <= largest; factor *= step) {
      size = size_within(records, row, slot, factor);
      if (size < 0.98 * factor) break;
    }
    return size;
  }

 private:
  static constexpr double first = 0x1p4, step = 0x1p6, largest = 0x1p46;

  // A tile of records fits.
  Lattice lattice(double factor) const {
    return {26 - static_cast<int>(std::ceil(std::log2(factor * bound_.clip)))};
  }

  double size_within(const Records& records, std::uint32_t row, std::uint32_t slot, double factor) {
    sum_.clear(lattice(factor));
    kernel_.run({factor * bound_.clip, bound_.clipping}, sum_, [&](const auto& visit) {
      visit(Rows{records, std::span(&row, 1), std::span(&slot, 1)});
    });
    const auto totals = sum_.totals();
    double size = 0;
    for (const ClippedPart& part : parts_) {
      double square = 0;
      for (const std::int64_t total : totals.subspan(part.begin, part.size))
        square += static_cast<double>(total) * static_cast<double>(total);
      size = std::max(size, std::sqrt(square) * sum_.lattice().quantum() / part.clip);
    }
    return size;
  }

  Kernel kernel_;
  L2Bound bound_;
  std::vector<ClippedPart> parts_;
  LatticeAccumulator sum_;
};

std::vector<ClippedPart> parts_of(const Objective& objective, const L2Bound& bound) {
  if (bound.clipping == Clipping::flat) return {{0, objective.dim(), bound.clip}};
  std::vector<ClippedPart> parts;
  for (const ParameterGroup& group : objective.groups())
    if (group.regularised() || parts.empty())
      parts.push_back({group.offset, group.size()});
    else
      parts.back().size += group.size();  // the bias of the layer before it
  for (ClippedPart& part : parts) part.clip = bound.clip / std::sqrt(static_cast<double>(parts.size()));
  return parts;
}

}  // namespace

SizesOverClip sizes_of_kernel(Kernel kernel, std::size_t dim, const L2Bound& bound,
                              std::vector<ClippedPart> parts) {
  const auto sizes = std::make_shared<KernelSizes>(std::move(kernel), dim, bound, std::move(parts));
  return [sizes](const Rows& rows, std::span<double> out) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = (*sizes)(rows.records, rows.index[i], rows.slot.empty() ? 0 : rows.slot[i]);
  };
}

SizesOverClip sizes_of_gradients(Objective& objective, std::span<const float> w, const L2Bound& bound) {
  return sizes_of_kernel(clipped_gradients(objective, w), objective.dim(), bound, parts_of(objective, bound));
}

}  // namespace dpmpi
