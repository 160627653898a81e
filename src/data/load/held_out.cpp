#include "data/load/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// a b / c, rounded down, of numbers whose product may need 128 bits.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

/// SplitMix64 (Steele, Lea and Flood 2014): any fixed function that no file was made for would do.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class Values>
void append_elements(const Values& from, std::size_t begin, std::size_t count, Values& to) {
  const auto at = from.begin() + static_cast<std::ptrdiff_t>(begin);
  to.insert(to.end(), at, at + static_cast<std::ptrdiff_t>(count));
}

void append_row_of(const Records& from, std::uint32_t row, Records& to) {
  to.label.push_back(from.label[row]);
  to.norm.push_back(from.norm[row]);
  if (!from.weight.empty()) to.weight.push_back(from.weight[row]);
  if (!from.offset.empty()) to.offset.push_back(from.offset[row]);
  switch (from.storage) {
    case Storage::dense_f32:
      return append_elements(from.f32, row * from.stride, from.stride, to.f32);
    case Storage::dense_u8:
      to.row_scale.push_back(from.row_scale[row]);
      return append_elements(from.u8, row * from.stride, from.stride, to.u8);
    case Storage::sparse_f32:
      const std::uint64_t begin = from.row_begin[row], entries = from.row_begin[row + 1] - begin;
      append_elements(from.column, begin, entries, to.column);
      append_elements(from.value, begin, entries, to.value);
      to.row_begin.push_back(to.column.size());
  }
}

/// Room for these units of a block.
Records with_room_for(const Records& from, std::span<const std::uint32_t> units) {
  std::size_t rows = 0;
  for (const std::uint32_t u : units) rows += from.unit_begin(u + 1) - from.unit_begin(u);
  Records to;
  to.storage = from.storage, to.features = from.features, to.stride = from.stride, to.bias = from.bias;
  to.count = rows;
  to.label.reserve(rows), to.norm.reserve(rows);
  if (from.storage == Storage::dense_f32) to.f32.reserve(rows * from.stride);
  if (from.storage == Storage::dense_u8) to.u8.reserve(rows * from.stride), to.row_scale.reserve(rows);
  if (from.storage == Storage::sparse_f32) to.row_begin.reserve(rows + 1), to.row_begin.push_back(0);
  if (!from.person_begin.empty()) to.person_begin.reserve(units.size() + 1), to.person_begin.push_back(0);
  return to;
}

/// Their records, in this order.
Records records_of(const Records& from, std::span<const std::uint32_t> units) {
  Records to = with_room_for(from, units);
  for (const std::uint32_t u : units) {
    for (std::uint32_t row = from.unit_begin(u); row < from.unit_begin(u + 1); ++row) append_row_of(from, row, to);
    if (!from.person_begin.empty()) to.person_begin.push_back(static_cast<std::uint32_t>(to.label.size()));
  }
  return to;
}

}  // namespace

HeldOut::HeldOut(double share, DatasetFacts whole) : training_(whole), held_out_(std::move(whole)) {
  verify(held_out_.slots_of_unit == 1, "a slot is a unit by itself where some are held out");
  std::vector<std::uint64_t> sizes = held_out_.shards;
  if (sizes.empty()) sizes.push_back(held_out_.records);
  training_.records = held_out_.records = 0;
  training_.shards.clear(), held_out_.shards.clear();
  std::uint64_t first = 0;
  for (const std::uint64_t slots : sizes) {
    const auto held = static_cast<std::uint64_t>(std::floor(share * static_cast<double>(slots)));
    if (held == 0 || held >= slots)
      throw ConfigError(fmt::format(
          "data.test_share = {} of {} slots leaves {} to evaluate on and {} to train on: both parts need at "
          "least one",
          share, slots, held, slots - held));
    files_.push_back({first, slots, held});
    first += slots;
    training_.records += slots - held, held_out_.records += held;
    if (sizes.size() == 1) continue;
    training_.shards.push_back(slots - held), held_out_.shards.push_back(held);
  }
}

std::uint64_t HeldOut::File::begin(std::uint64_t run) const { return scaled(run, slots, held); }

std::uint64_t HeldOut::File::run_of(std::uint64_t slot) const {
  std::uint64_t run = scaled(slot, held, slots);
  while (begin(run + 1) <= slot) ++run;
  return run;
}

std::uint64_t HeldOut::File::chosen(std::uint64_t run) const {
  const std::uint64_t from = begin(run);
  return from + mixed(run) % (begin(run + 1) - from);
}

std::uint64_t HeldOut::File::held_before(std::uint64_t slot) const {
  if (slot == slots) return held;
  const std::uint64_t run = run_of(slot);
  return run + (chosen(run) < slot ? 1 : 0);
}

// The first slot with so many before it that are trained on.
std::uint64_t HeldOut::File::slot_of_training(std::uint64_t i) const {
  std::uint64_t low = i, high = i + held;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (middle - held_before(middle) >= i)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

const HeldOut::File& HeldOut::file_of(std::uint64_t slot) const {
  const auto behind = std::ranges::upper_bound(files_, slot, {}, &File::first);
  return *std::prev(behind);
}

bool HeldOut::holds(std::uint64_t slot) const {
  const File& file = file_of(slot);
  const std::uint64_t own = slot - file.first;
  return file.chosen(file.run_of(own)) == own;
}

BlockLayout HeldOut::whole_layout(const BlockLayout& training) const {
  BlockLayout whole{training_.records + held_out_.records, training.blocks};
  const auto per_file = training.blocks / static_cast<std::uint32_t>(files_.size());
  verify(per_file * files_.size() == training.blocks, "every file has the same number of blocks");
  for (std::uint32_t f = 0; f < files_.size(); ++f) {
    const std::uint64_t before = training.begin(f * per_file);
    whole.cuts.push_back(files_[f].first);
    for (std::uint32_t b = 1; b < per_file; ++b)
      whole.cuts.push_back(files_[f].first + files_[f].slot_of_training(training.begin(f * per_file + b) - before));
  }
  whole.cuts.push_back(whole.records);
  return whole;
}

BlockLayout HeldOut::held_out_layout(const BlockLayout& training) const {
  const BlockLayout whole = whole_layout(training);
  BlockLayout held{held_out_.records, training.blocks};
  for (std::uint32_t b = 0; b <= training.blocks; ++b) held.cuts.push_back(whole.begin(b) - training.begin(b));
  return held;
}

HeldOut::Parts HeldOut::split(Shard whole, const BlockLayout& training) const {
  Parts parts;
  parts.training.facts = parts.held_out.facts = whole.facts;
  parts.training.facts.records = training_.records, parts.held_out.facts.records = held_out_.records;
  parts.training.layout = training, parts.held_out.layout = held_out_layout(training);
  std::vector<std::uint32_t> trained, held;
  for (Block& block : whole.blocks) {
    trained.clear(), held.clear();
    for (std::uint32_t u = 0; u < block.records.units(); ++u)
      (holds(block.first_index + u) ? held : trained).push_back(u);
    parts.training.blocks.push_back(
        {block.id, parts.training.layout.begin(block.id), records_of(block.records, trained)});
    parts.held_out.blocks.push_back(
        {block.id, parts.held_out.layout.begin(block.id), records_of(block.records, held)});
    verify(trained.size() == training.size(block.id), "a block has the slots of its layout");
    block = {};
  }
  return parts;
}

std::optional<HeldOut> parts_of(double share, DatasetFacts& facts) {
  if (share == 0) return {};
  HeldOut parts(share, facts);
  facts = parts.training();
  return parts;
}

}  // namespace dpmpi
