// Embeddings of categories: the features of a one-hot column are replaced by the row of a table, which is learnt.
// In a gradient that row alone is not 0, and its part of the squared norm is that of one row for each column.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/kinds.hpp"

namespace dpmpi {
namespace {

/// Features of one column: first, first + 1, ... of a record, from 0.
struct OneHotColumn {
  std::size_t first, count;
};

struct EmbeddingSettings {
  std::size_t size;  ///< numbers of a category
  std::vector<OneHotColumn> columns;

  std::size_t rows() const {
    std::size_t all = 0;
    for (const OneHotColumn& column : columns) all += column.count;
    return all;
  }
  Volume out(const Volume& in) const {
    if (in.positions() != 1)
      throw ConfigError(fmt::format("it takes a list of numbers, and there are {} channels of {}x{}", in.channels,
                                    in.height, in.width));
    if (const std::size_t last = columns.back().first + columns.back().count; last > in.channels)
      throw ConfigError(fmt::format("a column ends at feature {}, and there are {}", last, in.channels));
    return {in.channels - rows() + columns.size() * size, 1, 1};
  }
  double numbers(const Volume& in) const {
    return static_cast<double>(rows()) * static_cast<double>(size) + static_cast<double>(in.channels);
  }
  /// Numbers of the others, ascending.
  std::vector<std::size_t> others(std::size_t features) const {
    std::vector<std::size_t> left;
    std::size_t from = 0;
    for (const OneHotColumn& column : columns) {
      for (; from < column.first; ++from) left.push_back(from);
      from += column.count;
    }
    for (; from < features; ++from) left.push_back(from);
    return left;
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const;
};

// A product with a matrix of the tables, and of ones for the features that stay.
ScoreWriter::Value EmbeddingSettings::write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                                            LayerParameters own) const {
  const auto tables = own.take(rows() * size);
  const std::size_t outputs = out(in).channels;
  const std::vector<std::size_t> stay = others(in.channels);
  std::vector<float> matrix(in.channels * outputs);
  for (std::size_t i = 0; i < stay.size(); ++i) matrix[stay[i] * outputs + i] = 1;
  std::size_t row = 0, to = stay.size();
  for (const OneHotColumn& column : columns) {
    for (std::size_t k = 0; k < column.count; ++k, ++row)
      std::ranges::copy(tables.subspan(row * size, size), matrix.data() + (column.first + k) * outputs + to);
    to += size;
  }
  return writer.dense(
      x, {.weights = {own.name("weight"), {in.channels, outputs}, matrix}, .bias = {}, .transposed = true});
}

/// What comes out: the features that are of no column, in their order, and then the numbers of each column's
/// category. Parameters: a row for each feature of the columns.
template <class T>
class EmbeddingLayer final : public Layer<T> {
 public:
  EmbeddingLayer(const EmbeddingSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        size_(settings.size),
        columns_(settings.columns),
        others_(settings.others(in.channels)),
        tables_(settings.rows() * size_),
        outputs_(room_for<T>(this->out())),
        back_(room_for<T>(in)) {}

  /// Of records with one category in each column.
  double multiply_adds() const override { return static_cast<double>(columns_.size() * size_); }
  std::vector<ParameterGroup> groups() const override { return {{"weight", 0, tables_.size() / size_, size_}}; }
  /// As numbers of variance 1, which features are at best.
  void initialise(std::span<float> /*w*/, bool /*rectified*/) const override {}
  void load(std::span<const T> w) override { std::ranges::copy(w, tables_.begin()); }

  const T* forward(const T* in) override {
    in_values_ = in;
    for (std::size_t i = 0; i < others_.size(); ++i) outputs_[i] = in[others_[i]];
    std::fill(outputs_.begin() + static_cast<std::ptrdiff_t>(others_.size()), outputs_.end(), T{0});
    visit([&](std::size_t feature, std::size_t row, std::size_t to) {
      if (in[feature] == 0) return;
      for (std::size_t j = 0; j < size_; ++j) outputs_[to + j] += in[feature] * tables_[row + j];
    });
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    std::fill_n(gradient, tables_.size(), T{0});
    visit([&](std::size_t feature, std::size_t row, std::size_t to) {
      if (in_values_[feature] == 0) return;
      for (std::size_t j = 0; j < size_; ++j) gradient[row + j] = in_values_[feature] * delta[to + j];
    });
    if (!wanted) return nullptr;
    for (std::size_t i = 0; i < others_.size(); ++i) back_[others_[i]] = delta[i];
    visit([&](std::size_t feature, std::size_t row, std::size_t to) {
      T sum{0};
      for (std::size_t j = 0; j < size_; ++j) sum += tables_[row + j] * delta[to + j];
      back_[feature] = sum;
    });
    return back_.data();
  }

 private:
  /// Calls see(feature, where its row begins, where the numbers of its column begin behind the layer).
  template <class See>
  void visit(See&& see) const {
    std::size_t row = 0, to = others_.size();
    for (const OneHotColumn& column : columns_) {
      for (std::size_t k = 0; k < column.count; ++k, row += size_) see(column.first + k, row, to);
      to += size_;
    }
  }

  std::size_t size_;
  std::vector<OneHotColumn> columns_;
  std::vector<std::size_t> others_;
  std::vector<T> tables_;
  AlignedVector<T> outputs_, back_;
  const T* in_values_ = nullptr;
};

/// FIRST-LAST ..., from 1.
std::vector<OneHotColumn> read_columns(LayerWords& words) {
  std::vector<OneHotColumn> columns;
  std::size_t behind = 1;
  while (const auto range = words.range("column")) {
    const auto [first, last] = *range;
    if (first < behind)
      throw ConfigError(fmt::format(
          "the column {}-{} begins before feature {}: columns ascend, and share no feature", first, last, behind));
    columns.push_back({first - 1, last - first + 1});
    behind = last + 1;
  }
  if (columns.empty()) throw ConfigError("the columns are missing");
  return columns;
}

}  // namespace

LayerKind embedding_kind() {
  return {"embedding", "embedding SIZE of FIRST-LAST [FIRST-LAST ...]", [](LayerWords& words) {
            const std::size_t size = words.number("size");
            words.expect("of");
            return planned<EmbeddingLayer>(EmbeddingSettings{size, read_columns(words)});
          }};
}

}  // namespace dpmpi
