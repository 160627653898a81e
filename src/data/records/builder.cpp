#include "data/records/builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// One public constant per feature from a list that holds one number, one per feature, or name:number entries. What
/// is wrong with an entry is added to `problems`.
std::vector<double> per_feature(const std::vector<std::string>& list, const std::string& key, double otherwise,
                                std::size_t features,
                                const std::function<std::size_t(const std::string&)>& index_of,
                                std::vector<std::string>& problems) {
  std::vector<double> out(features, otherwise);
  const bool named = std::any_of(list.begin(), list.end(), [](const auto& e) { return e.find(':') != e.npos; });
  if (!named && list.size() > 1 && list.size() != features)
    throw ConfigError(fmt::format("{} has {} numbers for {} features: give 1, {} or name:number entries", key,
                                  list.size(), features, features));
  const auto set = [&](std::size_t i) {
    if (named) {
      const auto [name, value] = split_entry(list[i], key);
      out[index_of(name)] = option_number(value, key);
    } else if (list.size() == 1) {
      std::fill(out.begin(), out.end(), option_number(list[i], key));
    } else {
      out[i] = option_number(list[i], key);
    }
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      set(i);
    } catch (const ConfigError& e) {
      if (std::ranges::find(problems, e.what()) == problems.end()) problems.emplace_back(e.what());
    }
  }
  return out;
}

/// The smallest float32 >= x (x >= 0; infinity if there is none).
float float_above(double x) {
  constexpr float largest = std::numeric_limits<float>::max();
  if (x > static_cast<double>(largest)) return std::numeric_limits<float>::infinity();
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) >= x ? nearest
                                           : std::nextafter(nearest, std::numeric_limits<float>::infinity());
}

/// A double sum of `terms` non-negative terms, each with at most one rounding error, made an upper bound of the
/// exact one.
double outward(double sum, std::size_t terms) {
  return sum * (1 + (static_cast<double>(terms) + 8) * std::numeric_limits<double>::epsilon());
}

/// Squares of float32 are exact in double; eight partial sums let the compiler vectorise.
double sum_of_squares(std::span<const float> values) {
  double lane[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t j = 0; j < 8; ++j) {
      const double x = static_cast<double>(values[i + j]);
      lane[j] += x * x;
    }
  double sum = std::accumulate(std::begin(lane), std::end(lane), 0.0);
  for (; i < values.size(); ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}

std::uint64_t sum_of_squares(std::span<const std::uint8_t> bytes) {
  std::uint64_t sum = 0;
  for (const std::uint8_t b : bytes) sum += static_cast<std::uint64_t>(b) * b;
  return sum;
}

}  // namespace

FeatureMap::FeatureMap(const ReadingRules& options, std::size_t features,
                       const std::function<std::size_t(const std::string&)>& index_of)
    : scale_(options.scale) {
  if (options.mean.empty() && options.deviation.empty()) return;
  std::vector<std::string> problems;
  mean_ = per_feature(options.mean, "data.mean", 0, features, index_of, problems);
  deviation_ = per_feature(options.deviation, "data.std", 1, features, index_of, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  if (std::any_of(deviation_.begin(), deviation_.end(), [](double s) { return !(s > 0); }))
    throw ConfigError("data.std must be > 0 for every feature");
}

bool FeatureMap::moves_zero() const {
  return std::any_of(mean_.begin(), mean_.end(), [](double m) { return m != 0; });
}

float FeatureMap::operator()(std::size_t feature, double x) const {
  if (!std::isfinite(x)) return to_feature(x);
  if (mean_.empty()) return to_feature(scale_ * x);
  return to_feature((scale_ * x - mean_[feature]) / deviation_[feature]);
}

std::size_t feature_number(const std::string& name, std::size_t features) {
  double number = 0;
  if (!to_number(name, number))
    throw ConfigError(
        fmt::format("data.mean or data.std names {}, which is no feature of the file: features have "
                    "numbers there, 1..{}",
                    show(name), features));
  if (number < 1 || number > static_cast<double>(features) || number != std::floor(number))
    throw ConfigError(fmt::format("data.mean or data.std names feature {}, which is not in 1..{}", name, features));
  return static_cast<std::size_t>(number) - 1;
}

RecordsBuilder::RecordsBuilder(Storage storage, std::size_t features, std::size_t slots, const RowRule& rule,
                               std::uint64_t row_entries)
    : rule_(rule) {
  verify(!rule.in_file || storage != Storage::sparse_f32, "rows that stay in their file are dense");
  const std::size_t rows_in_memory = rule.in_file ? 1 : slots;
  Records& r = records_;
  r.storage = storage;
  r.features = features;
  r.count = slots;
  r.bias = rule.bias;
  if (storage == Storage::dense_f32) {
    r.stride = round_up(features, cache_line / sizeof(float));
    r.f32.resize(rows_in_memory * r.stride);
  } else if (storage == Storage::dense_u8) {
    r.stride = round_up(features, cache_line);
    r.u8.resize(rows_in_memory * r.stride);
    r.row_scale.assign(slots, rule.row_scale);
  } else {
    r.row_begin.assign(slots + 1, 0);
    r.column.reserve(slots * row_entries);
    r.value.reserve(slots * row_entries);
  }
  r.label.assign(slots, std::numeric_limits<float>::quiet_NaN());
  r.norm.assign(slots, 0);
}

std::uint64_t RecordsBuilder::bytes(Storage storage, std::size_t features, std::uint64_t slots,
                                    std::uint64_t row_entries, RecordFactors factors) {
  std::uint64_t row = bytes_beside(storage, 1, factors);
  if (storage == Storage::dense_f32) row += round_up(features, 16) * sizeof(float);
  if (storage == Storage::dense_u8) row += round_up(features, 64);
  if (storage == Storage::sparse_f32)
    row += sizeof(std::uint64_t) + row_entries * (sizeof(std::uint32_t) + sizeof(float));
  constexpr std::uint64_t most = std::uint64_t{1} << 62;  // no machine has it: a product beyond it must not wrap
  return slots > most / row ? most : slots * row;
}

std::uint64_t RecordsBuilder::bytes_beside(Storage storage, std::uint64_t slots, RecordFactors factors) {
  const std::uint64_t numbers = 2 + factors.weight + factors.exposure + (storage == Storage::dense_u8);
  return slots * numbers * sizeof(float);  // label, norm, ..., scale of a row
}

void RecordsBuilder::entry(std::uint32_t column, float value) {
  records_.column.push_back(column);
  records_.value.push_back(value);
}

void RecordsBuilder::set_person(const PersonTag& person) {
  if (records_.person.empty()) records_.person.resize(records_.count);
  records_.person[rows_] = person;
}

/// Of the row being filled. The first one that comes tells that there are such factors.
void RecordsBuilder::set_factor(std::vector<float>& factors, float otherwise, float value) {
  if (factors.empty()) factors.resize(records_.count, otherwise);
  factors[rows_] = value;
}

std::span<float> RecordsBuilder::values() {
  if (storage() == Storage::dense_f32) return {dense_row(), features()};
  return std::span(records_.value).subspan(records_.row_begin[rows_]);
}

void RecordsBuilder::clear_row() {
  if (storage() == Storage::dense_f32) std::fill_n(dense_row(), features(), 0.0F);
  if (storage() == Storage::dense_u8) std::fill_n(byte_row(), features(), std::uint8_t{0});
  if (storage() == Storage::sparse_f32) {
    records_.column.resize(records_.row_begin[rows_]);
    records_.value.resize(records_.row_begin[rows_]);
  }
}

/// The entries of a table stand in the order of its columns, and not in that of the features.
void RecordsBuilder::sort_entries() {
  const std::size_t begin = records_.row_begin[rows_], count = records_.column.size() - begin;
  const std::span<std::uint32_t> columns = std::span(records_.column).subspan(begin);
  if (std::ranges::is_sorted(columns)) return;
  sorted_.clear();
  for (std::size_t e = 0; e < count; ++e) sorted_.emplace_back(columns[e], records_.value[begin + e]);
  std::ranges::sort(sorted_);
  for (std::size_t e = 0; e < count; ++e) std::tie(columns[e], records_.value[begin + e]) = sorted_[e];
}

void RecordsBuilder::finish_float_row() {
  if (storage() == Storage::sparse_f32) sort_entries();
  const std::span<float> row = values();
  if (rule_.unit_norm) {
    const double norm = std::sqrt(sum_of_squares(row));
    if (norm > 0)
      for (float& x : row) x = static_cast<float>(static_cast<double>(x) / norm);
  }
  records_.norm[rows_] = norm_bound(row, rule_.bias);
}

void RecordsBuilder::finish_byte_row() {
  const auto squares = static_cast<double>(sum_of_squares(std::span(byte_row(), features())));
  if (rule_.unit_norm) records_.row_scale[rows_] = squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0F;
  const double scale = static_cast<double>(records_.row_scale[rows_]), bias = static_cast<double>(rule_.bias);
  records_.norm[rows_] = float_above(outward(std::sqrt(scale * scale * squares + bias * bias), 2));
}

void RecordsBuilder::finish_row(float label) {
  verify(rows_ < records_.count, "a block got more rows than it has slots");
  verify(!rule_.in_file || !std::isnan(label), "a row that stays in its file is a record");
  records_.label[rows_] = label;
  if (std::isnan(label))
    clear_row();
  else if (storage() == Storage::dense_u8)
    finish_byte_row();
  else
    finish_float_row();
  ++rows_;
  if (progress_) progress_->add();
  if (storage() == Storage::sparse_f32) records_.row_begin[rows_] = records_.column.size();
}

Records RecordsBuilder::take(std::shared_ptr<const void> mapped) {
  verify(rule_.in_file == (mapped != nullptr), "rows are in memory, or they stay in their file");
  if (mapped) records_.f32 = {}, records_.u8 = {}, records_.mapped = std::move(mapped);
  if (storage() == Storage::sparse_f32) {
    std::fill(records_.row_begin.begin() + static_cast<std::ptrdiff_t>(rows_), records_.row_begin.end(),
              records_.column.size());
    records_.column.shrink_to_fit();
    records_.value.shrink_to_fit();
  }
  return std::move(records_);
}

float norm_bound(std::span<const float> values, float bias) {
  const double b = static_cast<double>(bias);
  return float_above(outward(std::sqrt(sum_of_squares(values) + b * b), values.size()));
}

}  // namespace dpmpi
