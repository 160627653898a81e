#include "run/preparation/preparation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/added_attributes.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr std::array names_of_releases{"col_octaves", "col_zoom", "col_values"};
constexpr std::array names_of_counts{"octaves", "zoom", "values"};
constexpr std::array<std::size_t, PreparationPlan::releases> cells_of_column{OctaveCells::count, EvenCells::count,
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

}  // namespace

PreparationPlan PreparationPlan::of(const ColumnsFile& file, double share, double rho, std::uint64_t steps) {
  const auto all = static_cast<double>(releases);
  return {columns_without_scale(file).size(), std::sqrt(all / share) / rho, steps};
}

std::vector<QuerySpec> PreparationPlan::queries(double z) const {
  std::vector<QuerySpec> all;
  if (empty()) return all;
  for (std::size_t r = 0; r < releases; ++r)
    all.push_back({.name = names_of_releases[r],
                   .dim = columns * cells_of_column[r],
                   .sampling = FullBatch{},
                   .bound = {std::sqrt(static_cast<double>(columns))},
                   .noise_multiplier = z > 0 ? noise_multiplier : 0,
                   .steps = 1,
                   .schedule = {.period = steps},
                   .kind = ExactSum{},
                   .effort = 0});
  return all;
}

ColumnsFile as_they_stand(const ColumnsFile& file) {
  std::vector<AddedAttributes> added;
  for (const std::size_t c : columns_without_scale(file))
    added.push_back({c, fmt::format(" range={}..{} mean=0 std=1{}", missing_number, -missing_number,
                                    file.columns[c].impute ? "" : fmt::format(" impute={}", missing_number))});
  return {with_attributes(file, added), file.path};
}

std::vector<std::uint64_t> places_of_columns(const ColumnsFile& file, const std::string& names) {
  std::vector<std::string> all;
  std::istringstream lines(names);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  std::vector<std::uint64_t> places;
  for (const std::size_t c : columns_without_scale(file)) {
    const ColumnRule& rule = file.columns[c];
    if (std::ranges::count(all, rule.name) != 1)
      throw ConfigError(fmt::format("data.prepare = private: column {} ({}) has no feature of its own name",
                                    show(rule.name), file.place(rule)));
    places.push_back(static_cast<std::uint64_t>(std::ranges::find(all, rule.name) - all.begin()));
  }
  return places;
}

Preparation::Preparation(const ColumnsFile& file, double noise_std)
    : file_(file), asked_(columns_without_scale(file)), noise_std_(noise_std) {}

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
  verify(queries.size() == PreparationPlan::releases, "the releases of the plan");
  const auto release = [&](std::size_t r, const CellOf& cell_of) {
    const Batch everyone = curator.draw(queries[r], 0);
    const auto counts = curator.release_exact(
        curator.sum(queries[r], everyone, counted_in_cells(places, cells_of_column.at(r), cell_of)));
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
}

std::string Preparation::columns_text() const {
  std::vector<AddedAttributes> added;
  for (std::size_t c = 0; c < asked_.size(); ++c) {
    const Scale s = scale(c);
    const ColumnRule& rule = file_.columns[asked_[c]];
    const bool imputed = rule.impute || rule.indicator;
    added.push_back({asked_[c], fmt::format(" range={}..{} mean={} std={}{}", s.range.low, s.range.high, s.mean,
                                            s.deviation, imputed ? "" : fmt::format(" impute={}", s.mean))});
  }
  return with_attributes(file_, added);
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
  out["columns_file"] = columns_text();
  return out;
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
}

void Preparation::archive(Archive& archive) {
  for (std::size_t r = 0; r < counts_.size(); ++r) archive.field(names_of_releases.at(r), counts_.at(r));
}

}  // namespace dpmpi
