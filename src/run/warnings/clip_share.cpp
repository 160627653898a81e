#include "run/warnings/clip_share.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "run/evaluate/evaluate.hpp"
#include "run/warnings/public_sample.hpp"

namespace dpmpi {
namespace {

constexpr double most_records = 256, fewest_records = 16;
constexpr double work_of_look = 1e9;                         // flops: within a second
constexpr double nearly_all_cut = 0.99, nearly_none = 0.01;  // shares
constexpr double far_above = 30;                             // clips

double quantile(std::span<const float> ascending, double share) {
  const double last = static_cast<double>(ascending.size()) - 1;
  return static_cast<double>(ascending[static_cast<std::size_t>(std::ceil(share * last))]);
}

}  // namespace

std::vector<Measure> ClipShare::measures() const {
  return {{"clip.cut", three_digits(cut)},
          {"clip.size_10", three_digits(tenth)},
          {"clip.size_50", three_digits(median)},
          {"clip.size_90", three_digits(nine_tenths)}};
}

std::optional<Warning> ClipShare::warning(const std::string& where, double little) const {
  Warning warning{"clip", "", {{"where", where}, {"cut", three_digits(cut)}, {"median", three_digits(median)}}};
  if (cut >= nearly_all_cut && median > far_above)
    warning.text = fmt::format(
        "{} the clip cuts {} of what the records of data.eval add, half of them to less than 1/{:.3g}: of their "
        "lengths nothing is left, and steps are small. Scale the features (data.std, data.scale, data.normalize), or "
        "raise the clip",
        where, percent(cut), median);
  else if (cut <= nearly_none && nearly_all < little && nearly_all > 0)
    warning.text = fmt::format(
        "{} the clip cuts {} of what the records of data.eval add, and all but one in a hundred are below {:.3g} of "
        "it. The noise follows the clip: it is about {:.3g} times larger than these records need. Lower the clip",
        where, cut > 0 ? percent(cut) : "nothing", nearly_all, 1 / nearly_all);
  else
    return {};
  return warning;
}

ClipShare clip_share(const Communicator& comm, const SizesOverClip& sizes, const Shard& shard, double work) {
  const double affordable = std::clamp(work_of_look / work, fewest_records, most_records);
  const PublicSample sample(comm, shard, static_cast<std::uint64_t>(affordable));
  std::vector<float> mine;
  std::vector<double> of_rows;
  sample.for_each([&](const Rows& rows) {
    of_rows.resize(rows.size());
    sizes(rows, of_rows);
    for (const double size : of_rows) mine.push_back(std::isnan(size) ? 0.0F : static_cast<float>(size));
  });
  std::vector<float> all = gathered(comm, mine);
  ClipShare share{.records = all.size()};
  if (all.empty()) return share;
  std::ranges::sort(all);
  share.cut = static_cast<double>(std::ranges::count_if(all, [](float size) { return size > 1; })) /
              static_cast<double>(all.size());
  share.tenth = quantile(all, 0.1), share.median = quantile(all, 0.5);
  share.nine_tenths = quantile(all, 0.9), share.nearly_all = quantile(all, 0.99);
  return share;
}

}  // namespace dpmpi
