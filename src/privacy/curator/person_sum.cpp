#include "privacy/curator/person_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/console/heartbeat.hpp"
#include "data/records/sampling.hpp"

namespace dpmpi {
namespace {

/// In lanes, so that the compiler vectorises.
template <class Integer>
double squared_length(std::span<const Integer> values) {
  constexpr std::size_t lanes = 8;
  double lane[lanes] = {};
  std::size_t j = 0;
  for (; j + lanes <= values.size(); j += lanes)
    for (std::size_t i = 0; i < lanes; ++i) {
      const auto v = static_cast<double>(values[j + i]);
      lane[i] += v * v;
    }
  double sum = std::accumulate(std::begin(lane), std::end(lane), 0.0);
  for (; j < values.size(); ++j) sum += static_cast<double>(values[j]) * static_cast<double>(values[j]);
  return sum;
}

/// total += factor * values, each towards zero.
template <class Integer, class Total>
void add_shrunk(std::span<const Integer> values, double factor, Total* total) {
  for (std::size_t j = 0; j < values.size(); ++j)
    total[j] += static_cast<Total>(factor * static_cast<double>(values[j]));
}

}  // namespace

PersonSum::PersonSum(const LatticeAccumulator& sum, double largest_term, std::size_t rows)
    : own_(sum.dim(), sum.lattice(), MeanBound::room * largest_term, 0, sum.width()), largest_term_(largest_term) {
  rows_.resize(std::min(rows, own_.rows_at_once()));
  slots_.resize(rows_.size());
}

// Coarser, if the records could fill 62 bits: a function of this person's records alone.
Lattice PersonSum::lattice_for(Lattice of_sum, std::uint64_t records) const {
  const double largest = static_cast<double>(records) * (MeanBound::room * largest_term_ * of_sum.scale() + 1);
  int exponent = 0;
  std::frexp(largest, &exponent);
  return {of_sum.k - std::max(0, exponent - 62)};
}

/// Numbers first, first + 1, ..., as many as there is room for before `end`.
std::span<const std::uint32_t> PersonSum::numbered(std::uint32_t first, std::uint32_t end,
                                                   std::span<std::uint32_t> room_for) {
  const auto numbers = room_for.first(std::min<std::size_t>(room_for.size(), end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

template <class Visit>
void PersonSum::show(const Records& records, std::uint32_t person, std::span<const std::uint32_t> coming,
                     std::span<const std::uint32_t> slot, const Visit& visit) {
  const std::uint32_t end = records.unit_begin(person + 1);
  for (std::uint32_t first = records.unit_begin(person); first < end;) {
    const auto rows = numbered(first, end, rows_);
    first += static_cast<std::uint32_t>(rows.size());
    std::span<const std::uint32_t> next;
    if (first < end)
      next = numbered(first, end, next_);
    else if (!coming.empty())
      next = numbered(records.unit_begin(coming.front()), records.unit_begin(coming.front() + 1), next_);
    if (!next.empty())
      __builtin_prefetch(&records.norm[next.front()]), __builtin_prefetch(&records.label[next.front()]);
    if (!slot.empty()) std::fill_n(slots_.begin(), rows.size(), slot.front());
    visit(Rows{records, rows, std::span<const std::uint32_t>(slots_).first(slot.empty() ? 0 : rows.size()), next});
  }
}

// With d coordinates the norm is computed to d + 8 roundings and each product to two: `less` covers them. Rounding
// towards zero makes no vector longer.
void PersonSum::add_mean(LatticeAccumulator& sum, std::uint64_t records, double clip,
                         const std::optional<Votes>& votes) {
  const std::span<const std::int32_t> narrow = own_.narrow();
  const std::span<const std::int64_t> wide = narrow.empty() ? own_.totals() : std::span<const std::int64_t>();
  const double length = std::sqrt(narrow.empty() ? squared_length(wide) : squared_length(narrow));
  const double less = (static_cast<double>(own_.dim()) + 32) * std::numeric_limits<double>::epsilon();
  const double factor = (1 - less) *
                        std::min(1 / static_cast<double>(records), clip * own_.lattice().scale() / length) *
                        std::ldexp(1, sum.lattice().k - own_.lattice().k);
  const auto add = [&](auto values) {
    sum.begin(1);
    if (std::int64_t* const total = sum.wide())
      add_shrunk(values, factor, total);
    else
      add_shrunk(values, factor, sum.int32_scratch());
  };
  narrow.empty() ? add(wide) : add(narrow);
  if (!votes || length == 0) return;  // records that add nothing are like none
  const double mean = length * own_.lattice().quantum() / static_cast<double>(records);
  const double vote = static_cast<double>(votes->of(mean)) * sum.lattice().quantum();
  sum.add(sum.dim() - 1, std::span(&vote, 1));
}

/// Adds the persons whom the kernel takes together; returns the others. Which they are follows from the records of
/// each alone, and who shares a micro-batch from the numbers of those of few records.
std::span<const std::uint32_t> PersonSum::add_together(LatticeAccumulator& sum, const Kernel& kernel,
                                                       const MeanBound& bound, const Records& records,
                                                       std::span<const std::uint32_t> persons) {
  if (!kernel.add_means) return persons;
  few_.clear(), alone_.clear();
  for (const std::uint32_t person : persons) {
    const std::uint32_t count = records.unit_begin(person + 1) - records.unit_begin(person);
    if (count > 0) (count <= GradientMeans::most_records ? few_ : alone_).push_back(person);
  }
  const MicroBatching batching{std::min(GradientMeans::persons_at_once, sum.rows_at_once())};
  batching.for_each(records.units(), few_, [&](std::span<const std::uint32_t> together) {
    const auto left = kernel.add_means({records, together}, bound, sum);
    alone_.insert(alone_.end(), left.begin(), left.end());
  });
  return alone_;
}

// Kernels that add a part of each vector in every reading keep to the clip themselves: each part counts as it is.
void PersonSum::add_to(LatticeAccumulator& sum, const Kernel& kernel, const L2Bound& joint,
                       const PersonBatch& batch, const std::optional<Votes>& votes) {
  const L2Bound bound = votes ? votes->bound() : joint;
  const bool in_parts = kernel.readings > 1 && !kernel.read;
  const double clip = in_parts ? std::numeric_limits<double>::infinity() : bound.clip;
  const L2Bound of_record{bound.clip * (in_parts || kernel.one_hot ? 1 : MeanBound::room), bound.clipping};
  own_.clear(sum.lattice());
  kernel.run(of_record, own_, [&](const auto& visit) {
    for (std::size_t i = 0; i < batch.shard.blocks.size(); ++i, heartbeat().beat()) {
      const Records& records = batch.shard.blocks[i].records;
      const std::span<const std::uint32_t> persons =
          votes ? std::span<const std::uint32_t>(batch.selected[i])  // sums of several persons tell no lengths
                : add_together(sum, kernel, {of_record, clip}, records, batch.selected[i]);
      const std::span<const std::uint32_t> slots =
          kernel.add_means ? std::span<const std::uint32_t>() : batch.slots[i];
      for (std::size_t p = 0; p < persons.size(); ++p) {
        const std::uint64_t count = records.unit_begin(persons[p] + 1) - records.unit_begin(persons[p]);
        if (count == 0) continue;
        own_.clear(lattice_for(sum.lattice(), count));
        show(records, persons[p], persons.subspan(p + 1), slots.empty() ? slots : slots.subspan(p, 1), visit);
        if (!own_.empty()) add_mean(sum, count, clip, votes);
      }
    }
  });
}

}  // namespace dpmpi
