#include "objective/plugin/plugin_losses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/console/printable.hpp"
#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "objective/plugin/trial.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {

PluginLosses::PluginLosses(std::shared_ptr<const PluginLibrary> library, const std::string& parameters,
                           const ObjectiveFacts& facts)
    : library_(std::move(library)),
      columns_(facts.features + (facts.bias != 0 ? 1 : 0)),
      stride_(round_up(facts.features + 1, 16)),
      handle_(nullptr, {library_.get()}),
      classes_(library_->classes(parameters)) {
  std::array<char, 1024> error{};
  handle_.reset((*library_)->create(parameters.c_str(), columns_, error.data(), error.size()));
  error.back() = '\0';
  if (!handle_) throw ConfigError(fmt::format("{}: {}", library_->name(), printable(error.data())));
  size_up();
  points_are_apart_ = try_plugin(*library_, handle_.get(),
                                 {.columns = columns_, .stride = stride_, .rows = rows_, .classes = classes_});
  if ((*library_)->private_from_now) (*library_)->private_from_now(handle_.get());
}

// The plugin's numbers, and room for its calls.
void PluginLosses::size_up() {
  const PluginLibrary& plugin = *library_;
  dim_ = plugin->dim(handle_.get());
  if (dim_ == 0) throw ConfigError(fmt::format("{}: a model without parameters", plugin.name()));
  if (plugin->rows) rows_ = plugin->rows(handle_.get());
  if (rows_ < 1 || rows_ > 4096)
    throw ConfigError(fmt::format("{}: {} records at once, allowed: 1 to 4096", plugin.name(), rows_));
  if (plugin->outputs) outputs_ = plugin->outputs(handle_.get());
  if (outputs_ > 0 && outputs_ != std::max<std::size_t>(classes_, 1))
    throw ConfigError(fmt::format("{}: {} scores of a record, allowed: none or {}", plugin.name(), outputs_,
                                  std::max<std::size_t>(classes_, 1)));
  records_.resize(micro_batch_rows() * stride_);
  labels_.resize(micro_batch_rows());
}

// What must not count gets a NaN label, and a NaN loss whatever the plugin makes of it.
void PluginLosses::load(const Rows& rows) {
  verify(rows.size() <= micro_batch_rows(), "at most micro_batch_rows() rows at once");
  copy_rows(rows, stride_, records_.data());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::uint32_t i = rows.index[r];
    labels_[r] = takes_part(rows.records, i) ? rows.records.label[i] : std::numeric_limits<float>::quiet_NaN();
  }
}

void PluginLosses::losses(const Rows& rows, std::span<double> out) {
  const std::size_t count = rows.size(), most = rows_of_a_call();
  load(rows);
  for (std::size_t r = 0; r < count; r += most) {
    (*library_)->loss(handle_.get(), w_.data(), records_.data() + r * stride_, stride_, std::min(most, count - r),
                      labels_.data() + r, out.data() + r);
    refuse_failure();
  }
  for (std::size_t r = 0; r < count; ++r)
    if (!std::isfinite(labels_[r])) out[r] = std::numeric_limits<double>::quiet_NaN();
}

void PluginLosses::losses_together(std::span<const float> points, const Rows& rows, std::span<double> losses) {
  const std::size_t count = rows.size(), many = points.size() / dim_;
  verify(points.size() == many * dim_ && losses.size() == many * count, "a loss for each row and point");
  load(rows);
  for (std::size_t r = 0; r < count; r += rows_of_a_call()) {
    const std::size_t some = std::min(rows_of_a_call(), count - r);
    at_points_.resize(std::max(at_points_.size(), many * some));
    (*library_)->losses_at(handle_.get(), points.data(), many, records_.data() + r * stride_, stride_, some,
                           labels_.data() + r, at_points_.data());
    refuse_failure();
    for (std::size_t p = 0; p < many; ++p)
      std::copy_n(at_points_.data() + p * some, some, losses.data() + p * count + r);
  }
  for (std::size_t r = 0; r < count; ++r) {
    const double weight = rows.records.weight_of(rows.index[r]);
    const double counts = std::isfinite(labels_[r]) ? weight : std::numeric_limits<double>::quiet_NaN();
    for (std::size_t p = 0; p < many; ++p) losses[p * count + r] *= counts;
  }
}

void PluginLosses::scores(const Rows& rows, std::span<float> out) {
  if (outputs_ == 0) return;
  const std::size_t count = rows.size();
  load(rows);
  for (std::size_t r = 0; r < count; r += rows_) {
    (*library_)->scores(handle_.get(), w_.data(), records_.data() + r * stride_, stride_,
                        std::min(rows_, count - r), out.data() + r * outputs_);
    refuse_failure();
  }
}

void PluginLosses::prepare_probes(std::span<const double> x, std::span<const double> y) {
  x_ = x;
  y_ = y;
}

// One record at all points in one call: that is what losses_at is for.
void PluginLosses::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                         std::span<double> down) {
  verify(row.size() == 1, "one record at a time");
  load(row);
  form_points(radius, tile);
  at_points_.resize(std::max(at_points_.size(), 2 * tile.count));
  (*library_)->losses_at(handle_.get(), points_.data(), 2 * tile.count, records_.data(), stride_, 1, labels_.data(),
                         at_points_.data());
  refuse_failure();
  const bool counts = std::isfinite(labels_[0]);
  for (std::size_t j = 0; j < tile.count; ++j) {
    up[j] = counts ? at_points_[j] : std::numeric_limits<double>::quiet_NaN();
    down[j] = counts ? at_points_[tile.count + j] : std::numeric_limits<double>::quiet_NaN();
  }
}

// Rounded to float32, as PairedLosses rounds the points of objectives without pairs.
void PluginLosses::form_points(double radius, const DirectionTile& tile) {
  points_.resize(std::max(points_.size(), 2 * tile.count * dim_));
  const std::span<const double> from = y_.empty() ? x_ : y_;
  const double back = y_.empty() ? -radius : radius;
  for (std::size_t j = 0; j < tile.count; ++j) {
    const double* const u = tile.row(j);
    float* const up = points_.data() + j * dim_;
    float* const down = up + tile.count * dim_;
    for (std::size_t k = 0; k < dim_; ++k) {
      up[k] = static_cast<float>(x_[k] + radius * u[k]);
      down[k] = static_cast<float>(from[k] + back * u[k]);
    }
  }
}

// One rank may be alone with it.
void PluginLosses::refuse_failure() const {
  if (const char* const why = plugin_failure(*library_, handle_.get()))
    throw DataError(fmt::format("{}: {}", library_->name(), printable(why)));
}

}  // namespace dpmpi
