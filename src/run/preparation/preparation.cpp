#include "run/preparation/preparation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/line_words.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr std::array names_of_releases{"col_octaves", "col_zoom", "col_values"};
constexpr const char* name_of_words = "col_words";
constexpr std::array names_of_counts{"octaves", "zoom", "values"};
constexpr std::array<std::size_t, PreparationPlan::of_numbers> cells_of_column{OctaveCells::count, EvenCells::count,
                                                                               EvenCells::count};

/// Feature `j` of row `i`.
double value_of(const Records& records, std::size_t i, std::uint64_t j) {
  if (records.storage == Storage::dense_f32) return static_cast<double>(records.row_f32(i)[j]);
  const auto row =
      std::span(records.column).subspan(records.row_begin[i], records.row_begin[i + 1] - records.row_begin[i]);
  const auto found = std::ranges::lower_bound(row, j);
  if (found == row.end() || *found != j) return 0;
  return static_cast<double>(records.value[records.row_begin[i] + static_cast<std::size_t>(found - row.begin())]);
}

/// A record adds 1 to one cell of each column, or to none where cell_of says so.
using CellOf = std::function<std::size_t(std::size_t column, double x)>;
Kernel counted_in_cells(std::vector<std::uint64_t> places, std::size_t cells, CellOf cell_of) {
  return [places = std::move(places), cells, cell_of = std::move(cell_of)](const Rows& rows, const L2Bound&,
                                                                           LatticeAccumulator& sum) {
    constexpr double one = 1;
    for (const std::uint32_t i : rows.index) {
      if (std::isnan(rows.records.label[i])) continue;  // an empty slot
      sum.begin(1);
      for (std::size_t c = 0; c < places.size(); ++c)
        if (const std::size_t cell = cell_of(c, value_of(rows.records, i, places[c])); cell < cells)
          sum.add(c * cells + cell, std::span(&one, 1));
    }
  };
}

/// The last of these features of row `i` that is not 0, from 0: of a category that of missing values, where its
/// record has two. `width`: there is none.
std::size_t last_feature(const Records& records, std::size_t i, std::uint64_t first, std::size_t width) {
  if (records.storage == Storage::dense_f32) {
    const std::span features(records.row_f32(i) + first, width);
    for (std::size_t f = width; f-- > 0;)
      if (features[f] != 0) return f;
    return width;
  }
  const auto begin = records.row_begin[i];
  const auto row = std::span(records.column).subspan(begin, records.row_begin[i + 1] - begin);
  auto entry = static_cast<std::size_t>(std::ranges::lower_bound(row, first + width) - row.begin());
  while (entry-- > 0 && row[entry] >= first)
    if (records.value[begin + entry] != 0) return row[entry] - first;
  return width;
}

/// A record adds 1 to the cell of its class, and to one of each category or to none.
Kernel counted_words(WordCells words, std::vector<std::uint64_t> places) {
  return [words = std::move(words), places = std::move(places)](const Rows& rows, const L2Bound&,
                                                                LatticeAccumulator& sum) {
    constexpr double one = 1;
    for (const std::uint32_t i : rows.index) {
      const float label = rows.records.label[i];
      if (std::isnan(label)) continue;  // an empty slot
      sum.begin(1);
      if (const std::size_t k = words.classes.names.empty() ? 0 : words.classes.cell(label);
          k < words.classes.names.size())
        sum.add(k, std::span(&one, 1));
      std::size_t first = words.classes.names.size();
      for (std::size_t c = 0; c < places.size(); ++c) {
        const std::size_t width = words.categories[c].names.size();
        if (const std::size_t f = last_feature(rows.records, i, places[c], width); f < width)
          sum.add(first + f, std::span(&one, 1));
        first += width;
      }
    }
  };
}

}  // namespace

PreparationPlan PreparationPlan::of(const ColumnsFile& file, WordCells words, double share, double rho,
                                    std::uint64_t steps) {
  const double all = of_numbers + (words.groups() > 0 ? 1 / (coarser * coarser) : 0);
  return {columns_without_scale(file).size(), std::move(words), std::sqrt(all / share) / rho, steps};
}

std::vector<QuerySpec> PreparationPlan::queries(double z) const {
  std::vector<QuerySpec> all;
  if (empty()) return all;
  const auto add = [&](const char* name, std::size_t groups, std::size_t cells, double multiplier) {
    all.push_back({.name = name,
                   .dim = cells,
                   .sampling = FullBatch{},
                   .bound = {std::sqrt(static_cast<double>(groups))},
                   .noise_multiplier = z > 0 ? multiplier : 0,
                   .steps = 1,
                   .schedule = {.period = steps},
                   .kind = ExactSum{},
                   .effort = 0});
  };
  for (std::size_t r = 0; r < of_numbers; ++r)
    add(names_of_releases[r], columns, columns * cells_of_column[r], noise_multiplier);
  if (words.groups() > 0) add(name_of_words, words.groups(), words.count(), coarser * noise_multiplier);
  return all;
}

ColumnsFile as_they_stand(const ColumnsFile& file) {
  std::vector<AddedAttributes> added;
  for (const std::size_t c : columns_without_scale(file))
    added.push_back({c, fmt::format(" range={}..{} mean=0 std=1{}", missing_number, -missing_number,
                                    file.columns[c].impute ? "" : fmt::format(" impute={}", missing_number))});
  return {with_attributes(file, added), file.path};
}

std::vector<std::uint64_t> places_of_columns(const ColumnsFile& file, bool words, const std::string& names) {
  std::vector<std::string> all;
  std::istringstream lines(names);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  std::vector<std::uint64_t> places;
  const auto add = [&](const ColumnRule& rule, const std::string& feature) {
    if (std::ranges::count(all, feature) != 1)
      throw ConfigError(fmt::format("data.prepare = private: column {} ({}) has no feature of its own name",
                                    show(rule.name), file.place(rule)));
    places.push_back(static_cast<std::uint64_t>(std::ranges::find(all, feature) - all.begin()));
  };
  for (const std::size_t c : columns_without_scale(file)) add(file.columns[c], file.columns[c].name);
  if (!words) return places;
  for (const std::size_t c : categories_without_rare(file))
    add(file.columns[c], file.columns[c].name + "=" + file.columns[c].words.front());
  return places;
}

Preparation::Preparation(const ColumnsFile& file, WordCells words, std::span<const Query> queries)
    : file_(file),
      asked_(columns_without_scale(file)),
      words_(std::move(words)),
      noise_std_(queries.front().noise_std) {
  if (words_.groups() > 0) words_noise_std_ = queries.back().noise_std;
}

std::span<const double> Preparation::of_column(std::size_t release, std::size_t column) const {
  const std::size_t cells = cells_of_column.at(release);
  return std::span(counts_.at(release)).subspan(column * cells, cells);
}

bool Preparation::is_guess(std::size_t column) const { return are_noise(of_column(0, column), noise_std_); }

Bounds Preparation::first(std::size_t column) const { return bounds_of_octaves(of_column(0, column), noise_std_); }

Bounds Preparation::last(std::size_t column) const {
  return narrowed(first(column), of_column(1, column), noise_std_);
}

Scale Preparation::scale(std::size_t column) const {
  return scale_of(first(column), last(column), of_column(2, column), noise_std_);
}

void Preparation::release(Curator& curator, std::span<const Query> queries,
                          const std::vector<std::uint64_t>& places) {
  verify(queries.size() == PreparationPlan::of_numbers + (words_.groups() > 0 ? 1 : 0), "the releases of the plan");
  const std::vector<std::uint64_t> numbers(places.begin(),
                                           places.begin() + static_cast<std::ptrdiff_t>(asked_.size()));
  const auto release = [&](std::size_t r, const CellOf& cell_of) {
    const Batch everyone = curator.draw(queries[r], 0);
    const auto counts = curator.release_exact(
        curator.sum(queries[r], everyone, counted_in_cells(numbers, cells_of_column.at(r), cell_of)));
    counts_.at(r).assign(counts.begin(), counts.end());
  };
  const auto release_even = [&](std::size_t r, Bounds (Preparation::*bounds_of)(std::size_t) const) {
    std::vector<Bounds> bounds;
    for (std::size_t c = 0; c < asked_.size(); ++c) bounds.push_back((this->*bounds_of)(c));
    release(r, [&](std::size_t c, double x) {
      return is_missing_number(x) ? EvenCells::count : EvenCells::cell(bounds[c], x);
    });
  };
  release(0, [](std::size_t, double x) { return OctaveCells::cell(x); });
  release_even(1, &Preparation::first);
  release_even(2, &Preparation::last);
  if (words_.groups() > 0) release_words(curator, queries.back(), std::span(places).subspan(asked_.size()));
}

void Preparation::release_words(Curator& curator, const Query& query, std::span<const std::uint64_t> places) {
  verify(places.size() == words_.categories.size(), "a place for each category");
  const Batch everyone = curator.draw(query, 0);
  const auto counts =
      curator.release_exact(curator.sum(query, everyone, counted_words(words_, {places.begin(), places.end()})));
  word_counts_.assign(counts.begin(), counts.end());
}

std::span<const double> Preparation::class_counts() const {
  return std::span(word_counts_).first(words_.classes.names.size());
}

std::span<const double> Preparation::of_category(std::size_t category) const {
  std::size_t first = words_.classes.names.size();
  for (std::size_t k = 0; k < category; ++k) first += words_.categories[k].names.size();
  return std::span(word_counts_).subspan(first, words_.categories[category].names.size());
}

std::vector<std::string> Preparation::rare_of(std::size_t category) const {
  return rare_words(file_.columns[words_.categories[category].column], of_category(category), words_noise_std_,
                    words_.rare);
}

std::string Preparation::columns_text() const {
  std::vector<AddedAttributes> added = found_scales();
  for (std::size_t k = 0; k < words_.categories.size(); ++k) {
    std::string list;
    for (const std::string& word : rare_of(k)) list += (list.empty() ? " rare=" : ",") + written_word(word);
    if (!list.empty()) added.push_back({words_.categories[k].column, list});
  }
  std::ranges::sort(added, {}, [&](const AddedAttributes& one) { return one.column; });
  return with_attributes(file_, added);
}

std::vector<AddedAttributes> Preparation::found_scales() const {
  std::vector<AddedAttributes> added;
  for (std::size_t c = 0; c < asked_.size(); ++c) {
    const Scale s = scale(c);
    const ColumnRule& rule = file_.columns[asked_[c]];
    const bool imputed = rule.impute || rule.indicator;
    added.push_back({asked_[c], fmt::format(" range={}..{} mean={} std={}{}", s.range.low, s.range.high, s.mean,
                                            s.deviation, imputed ? "" : fmt::format(" impute={}", s.mean))});
  }
  return added;
}

nlohmann::ordered_json Preparation::json() const {
  nlohmann::ordered_json out{{"noise_std", noise_std_}, {"columns", nlohmann::ordered_json::array()}};
  for (std::size_t c = 0; c < asked_.size(); ++c) {
    const Scale s = scale(c);
    nlohmann::ordered_json column{{"name", file_.columns[asked_[c]].name},
                                  {"mean", s.mean},
                                  {"std", s.deviation},
                                  {"range", {s.range.low, s.range.high}},
                                  {"missing", of_column(0, c)[OctaveCells::missing]},
                                  {"bounds", {first(c).low, first(c).high}},
                                  {"narrowed", {last(c).low, last(c).high}}};
    if (is_guess(c)) column["guessed"] = true;
    for (std::size_t r = 0; r < counts_.size(); ++r) column[names_of_counts.at(r)] = of_column(r, c);
    out["columns"].push_back(std::move(column));
  }
  if (words_.groups() > 0) add_words(out);
  out["columns_file"] = columns_text();
  return out;
}

void Preparation::add_words(nlohmann::ordered_json& out) const {
  out["words_noise_std"] = words_noise_std_;
  if (!words_.classes.names.empty())
    out["class_balance"] = {{"classes", words_.classes.names},
                            {"counts", class_counts()},
                            {"shares", shares_of(class_counts(), words_noise_std_)}};
  if (words_.categories.empty()) return;
  out["categories"] = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < words_.categories.size(); ++k)
    out["categories"].push_back({{"name", file_.columns[words_.categories[k].column].name},
                                 {"words", words_.categories[k].names},
                                 {"counts", of_category(k)},
                                 {"rare", rare_of(k)}});
}

std::vector<std::string> Preparation::guessed() const {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < asked_.size(); ++c)
    if (is_guess(c)) names.push_back(file_.columns[asked_[c]].name);
  return names;
}

void Preparation::read(const nlohmann::json& file) {
  const auto& columns = file.at("columns");
  for (std::size_t r = 0; r < counts_.size(); ++r) {
    counts_.at(r).clear();
    for (const auto& column : columns) {
      const auto counts = column.at(names_of_counts.at(r)).get<std::vector<double>>();
      counts_.at(r).insert(counts_.at(r).end(), counts.begin(), counts.end());
    }
    if (counts_.at(r).size() != asked_.size() * cells_of_column.at(r))
      throw DataError(fmt::format("{}: has not the counts of the {} columns that are prepared",
                                  PreparationPlan::results, asked_.size()));
  }
  read_words(file);
}

void Preparation::read_words(const nlohmann::json& file) {
  word_counts_.clear();
  const auto append = [&](const nlohmann::json& member) {
    const auto counts = member.at("counts").get<std::vector<double>>();
    word_counts_.insert(word_counts_.end(), counts.begin(), counts.end());
  };
  if (!words_.classes.names.empty()) append(file.at("class_balance"));
  if (!words_.categories.empty())
    for (const auto& category : file.at("categories")) append(category);
  if (word_counts_.size() != words_.count())
    throw DataError(fmt::format("{}: has not the counts of the words that are prepared", PreparationPlan::results));
}

void Preparation::archive(Archive& archive) {
  for (std::size_t r = 0; r < counts_.size(); ++r) archive.field(names_of_releases.at(r), counts_.at(r));
  archive.field(name_of_words, word_counts_);
}

}  // namespace dpmpi
