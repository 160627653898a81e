#include "data/records/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;  // clang 14 does not deduce it

// ln(1 - q) without cancellation, by arithmetic that is the same on every machine.
double log_of_complement(double q) {
  if (q > 0.01) return portable_log(1.0 - q);
  double sum = 0, power = q;
  for (int i = 1; i <= 12; ++i) sum -= power / i, power *= q;
  return sum;
}

// Gaps between selected records are geometric: P(gap >= g) = (1-q)^g, so the work is proportional to the batch.
void select_poisson(double q, std::uint64_t count, SecretStream& stream, std::uint32_t site, std::uint64_t step,
                    std::vector<std::uint32_t>& out) {
  if (q >= 1) {
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(i);
    return;
  }
  verify(q > 0, "a sampling rate above 0");
  SecretReader reader(stream, step, site);
  const double scale = 1.0 / log_of_complement(q);
  std::array<double, 64> gap;
  for (double position = -1;;) {
    log_uniform(reader.next_block(), gap);
    for (double& g : gap) g = std::floor(g * scale);
    for (const double g : gap) {
      position += 1 + g;
      if (position >= static_cast<double>(count)) return;
      out.push_back(static_cast<std::uint32_t>(position));
    }
  }
}

// Floyd's algorithm: `quota` distinct positions, every set equally likely.
void select_subset(std::uint64_t quota, std::uint64_t count, SecretStream& stream, std::uint32_t site,
                   std::uint64_t step, std::vector<std::uint32_t>& out) {
  SecretReader reader(stream, step, site);
  for (std::uint64_t j = count - quota; j < count; ++j) {
    const auto candidate = static_cast<std::uint32_t>(reader.below(j + 1));
    const auto at = std::lower_bound(out.begin(), out.end(), candidate);
    if (at != out.end() && *at == candidate)
      out.push_back(static_cast<std::uint32_t>(j));  // j is above all before it
    else
      out.insert(at, candidate);
  }
}

// The first position of a block whose index is t modulo `parts`.
std::uint64_t first_of_residue(std::uint64_t parts, std::uint64_t first_index, std::uint64_t step) {
  return (step % parts + parts - first_index % parts) % parts;
}

void select_residue(std::uint64_t parts, std::uint64_t first_index, std::uint64_t count, std::uint64_t step,
                    std::vector<std::uint32_t>& out) {
  for (std::uint64_t i = first_of_residue(parts, first_index, step); i < count; i += parts)
    out.push_back(static_cast<std::uint32_t>(i));
}

// A Poisson sample of the places of the group in the block, which then become positions.
void select_of_group(const CyclicPoisson& rule, std::uint64_t first_index, std::uint64_t count,
                     SecretStream& stream, std::uint32_t site, std::uint64_t step,
                     std::vector<std::uint32_t>& out) {
  const std::uint64_t first = first_of_residue(rule.groups, first_index, step);
  if (first >= count) return;
  select_poisson(rule.rate, (count - first + rule.groups - 1) / rule.groups, stream, site, step, out);
  for (std::uint32_t& position : out) position = static_cast<std::uint32_t>(first + position * rule.groups);
}

// "27 x 100 (3 times), 50": equal parts that follow one another are one item, with how often each is used; of more
// than six items the middle ones are left out.
std::string sizes_and_uses(const Disjoint& rule) {
  constexpr std::size_t most = 6;
  std::vector<std::string> items;
  for (auto part = rule.parts.begin(); part != rule.parts.end();) {
    const auto other = [&](const auto& p) { return p.size != part->size || p.uses != part->uses; };
    const auto end = std::find_if(part, rule.parts.end(), other);
    items.push_back(fmt::format("{}{}{}", end - part == 1 ? "" : fmt::format("{} x ", end - part), part->size,
                                part->uses == 1 ? "" : fmt::format(" ({} times)", part->uses)));
    part = end;
  }
  if (items.size() > most) {
    items.erase(items.begin() + most - 2, items.end() - 1);
    items.insert(items.end() - 1, "...");
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

double mean_size(const Disjoint& rule) {
  double sum = 0, uses = 0;
  for (const auto& part : rule.parts) {
    sum += static_cast<double>(part.size) * static_cast<double>(part.uses);
    uses += static_cast<double>(part.uses);
  }
  return sum / uses;
}

}  // namespace

std::string describe(const SamplingRule& rule) {
  return std::visit(
      overloaded{[](const Poisson& p) { return fmt::format("Poisson, sampling rate {:.6g}", p.rate); },
                 [](const WithoutReplacement& w) {
                   return fmt::format(
                       "{} without replacement{}", w.batch,
                       w.among == 0 ? "" : fmt::format(", at most {} of a block of {}", w.most, w.among));
                 },
                 [](const FullBatch&) { return std::string("full batch"); },
                 [](const Cyclic& c) { return fmt::format("cyclic, {} parts", c.parts); },
                 [](const CyclicPoisson& c) {
                   return fmt::format("Poisson of {} group{} in turn, sampling rate {:.6g}", c.groups,
                                      c.groups == 1 ? "" : "s", c.rate);
                 },
                 [](const BallsInBins& b) {
                   return fmt::format("balls in bins, every record in one of {} steps", b.steps);
                 },
                 [](const Shuffled& s) {
                   return fmt::format("shuffled {}, {} runs a pass of batches of {} and {} times {}",
                                      s.reshuffle ? "every pass" : "once", s.runs, s.first, s.leaves - 1, s.batch);
                 },
                 [](const Disjoint& d) { return fmt::format("disjoint parts of {} records", sizes_and_uses(d)); }},
      rule);
}

double expected_share(const SamplingRule& rule, std::uint64_t records) {
  return std::visit(
      overloaded{
          [](const Poisson& p) { return p.rate; },
          [&](const WithoutReplacement& w) { return static_cast<double>(w.batch) / static_cast<double>(records); },
          [](const FullBatch&) { return 1.0; }, [](const Cyclic& c) { return 1.0 / static_cast<double>(c.parts); },
          [](const CyclicPoisson& c) { return c.rate / static_cast<double>(c.groups); },
          [](const BallsInBins& b) { return 1.0 / static_cast<double>(b.steps); },
          [&](const Shuffled& s) { return static_cast<double>(s.batch) / static_cast<double>(records); },
          [&](const Disjoint& d) { return mean_size(d) / static_cast<double>(records); }},
      rule);
}

double expected_batch(const SamplingRule& rule, std::uint64_t records) {
  return expected_share(rule, records) * static_cast<double>(records);
}

std::uint64_t largest_batch(const SamplingRule& rule, std::uint64_t records) {
  return std::visit(
      overloaded{
          [&](const Poisson&) { return records; }, [](const WithoutReplacement& w) { return w.batch; },
          [&](const FullBatch&) { return records; },
          [&](const Cyclic& c) { return (records + c.parts - 1) / c.parts; },
          [&](const CyclicPoisson& c) { return (records + c.groups - 1) / c.groups; },
          [&](const BallsInBins&) { return records; }, [](const Shuffled& s) { return std::max(s.first, s.batch); },
          [](const Disjoint& d) { return std::ranges::max_element(d.parts, {}, &Disjoint::Part::size)->size; }},
      rule);
}

namespace {

__extension__ using uint128 = unsigned __int128;

// Where a block begins on a scale of `whole` that shares follow: records, or blocks where these are as good as
// equal.
struct Shares {
  std::uint64_t whole;
  bool by_record;
  Shares(const BlockLayout& layout, std::uint64_t batch) : whole(layout.blocks), by_record(!layout.cuts.empty()) {
    const std::uint64_t least = layout.records / layout.blocks, most = (batch + layout.blocks - 1) / layout.blocks;
    if (most > least) by_record = true;  // almost all records
    if (by_record) whole = layout.records;
  }
  std::uint64_t begin(const BlockLayout& layout, std::uint32_t block) const {
    return by_record ? layout.begin(block) : block;
  }
};

}  // namespace

// Shares laid end to end, cut at whole numbers. The golden ratio's multiples move the cuts: they are spread evenly.
std::uint64_t block_quota(const BlockLayout& layout, std::uint64_t batch, std::uint32_t block, std::uint64_t step) {
  verify(batch <= layout.records && block < layout.blocks, "a batch without replacement of the data's records");
  const Shares shares(layout, batch);
  const uint128 shift = uint128{step * 0x9E3779B97F4A7C15} * shares.whole >> 64;
  const auto before = [&](std::uint32_t j) {
    return (uint128{batch} * shares.begin(layout, j) + shift) / shares.whole;
  };
  return static_cast<std::uint64_t>(before(block + 1) - before(block));
}

SamplingRule stratified(const SamplingRule& rule, const BlockLayout& layout) {
  const auto* wor = std::get_if<WithoutReplacement>(&rule);
  if (!wor) return rule;
  const Shares shares(layout, wor->batch);
  WithoutReplacement densest{wor->batch, 0, 1};
  for (std::uint32_t j = 0; j < layout.blocks; ++j) {
    const uint128 share = uint128{wor->batch} * (shares.begin(layout, j + 1) - shares.begin(layout, j));
    const auto most = static_cast<std::uint64_t>((share + shares.whole - 1) / shares.whole);
    if (uint128{most} * densest.among > uint128{densest.most} * layout.size(j))
      densest.most = most, densest.among = layout.size(j);
  }
  return densest;
}

void select(const SamplingRule& rule, std::uint64_t first_index, std::uint64_t count, SecretStream& stream,
            std::uint32_t site, std::uint64_t step, std::uint64_t quota, std::vector<std::uint32_t>& out) {
  out.clear();
  std::visit(
      overloaded{[&](const Poisson& p) { select_poisson(p.rate, count, stream, site, step, out); },
                 [&](const WithoutReplacement&) { select_subset(quota, count, stream, site, step, out); },
                 [&](const FullBatch&) { select_residue(1, first_index, count, step, out); },
                 [&](const Cyclic& c) { select_residue(c.parts, first_index, count, step, out); },
                 [&](const CyclicPoisson& c) { select_of_group(c, first_index, count, stream, site, step, out); },
                 [](const BallsInBins&) { throw BugError("bins are selected from their ShuffledBlock"); },
                 [](const Shuffled&) { throw BugError("a shuffle is selected from its ShuffledBlock"); },
                 [](const Disjoint&) { throw BugError("parts are selected from their PartIndex"); }},
      rule);
}

std::vector<std::uint32_t> draw_bins(const BallsInBins& rule, std::uint64_t count, SecretStream& stream,
                                     std::uint32_t site, std::uint64_t epoch) {
  verify(rule.steps >= 1 && rule.steps <= 1ULL << 32, "a number of bins");
  std::vector<std::uint32_t> bins(count);
  SecretReader reader(stream, epoch, site);
  for (std::uint32_t& bin : bins) bin = static_cast<std::uint32_t>(reader.below(rule.steps));
  return bins;
}

MicroBatching MicroBatching::plan(std::size_t capacity, std::uint64_t largest_block, double share) {
  const double expected = share * static_cast<double>(largest_block);
  // mu + 4 sqrt(mu (1 - share)) <= capacity, solved for mu.
  const double spread = 2 * std::sqrt(1 - share);
  const double root = std::sqrt(spread * spread + static_cast<double>(capacity)) - spread;
  const double target = std::max(1.0, root * root);
  return {capacity, static_cast<std::uint32_t>(std::max(1.0, std::ceil(expected / target)))};
}

std::span<const std::uint32_t> MicroBatching::slice(std::span<const std::uint32_t> ascending, std::uint64_t low,
                                                    std::uint64_t high) {
  const auto a = std::lower_bound(ascending.begin(), ascending.end(), low);
  const auto b = std::lower_bound(a, ascending.end(), high);
  return {a, b};
}

}  // namespace dpmpi
