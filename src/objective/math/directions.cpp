#include "objective/math/directions.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/math/dot.hpp"

namespace dpmpi {
namespace {

constexpr std::uint32_t direction_tag = 1;
constexpr std::size_t tile_directions = 64;
constexpr std::size_t at_once = 1024;  // normals, in small dimensions

/// Directions that are made orthonormal together.
std::size_t group_of(DirectionScheme scheme, std::size_t dim, std::size_t count, std::size_t block) {
  constexpr std::size_t counters = std::size_t{1} << 32;
  if (dim == 0 || count == 0) throw ConfigError("an estimator needs at least one direction");
  if (dim >= counters || count >= counters) throw ConfigError("directions and coordinates are counted in 32 bits");
  if (scheme == DirectionScheme::iid) return 1;
  if (scheme == DirectionScheme::haar) block = dim;
  if (block == 0 || block > dim || count % block != 0)
    throw ConfigError(
        fmt::format("{} directions in {} dimensions do not come in orthonormal groups of {}", count, dim, block));
  if (block > Directions::largest_group)
    throw ConfigError(
        fmt::format("an orthonormal group of {} directions is too large (at most {}): use blocks of 32 to 64",
                    block, Directions::largest_group));
  return block;
}

void normalise(double* u, std::size_t stride) {
  const double inverse = 1 / std::sqrt(squared_norm(u, stride));
  for (std::size_t k = 0; k < stride; ++k) u[k] *= inverse;
}

/// Takes from `u` what it has along `known` orthonormal rows (classical Gram-Schmidt: the dot products first).
void project_out(const double* rows, std::size_t known, double* u, std::size_t stride, double* along) {
  for (std::size_t i = 0; i < known; ++i) along[i] = dot(rows + i * stride, u, stride);
  for (std::size_t i = 0; i < known; ++i) add_scaled(-along[i], rows + i * stride, u, stride);
}

/// Orthonormal rows from normal ones: the factor Q of their QR decomposition with a positive diagonal of R, which
/// for normal entries is Haar-distributed (Mezzadri, "How to generate random matrices from the classical compact
/// groups", 2007). The second projection restores orthogonality to rounding; a row that was nearly dependent
/// shrinks in it and gets another.
void orthonormalise(double* rows, std::size_t count, std::size_t stride, double* along) {
  for (std::size_t j = 0; j < count; ++j) {
    double* u = rows + j * stride;
    normalise(u, stride);
    if (j == 0) continue;
    project_out(rows, j, u, stride, along);
    for (int pass = 0; pass < 3; ++pass) {
      normalise(u, stride);
      project_out(rows, j, u, stride, along);
      if (squared_norm(u, stride) > 0.25) break;
    }
    normalise(u, stride);
  }
}

}  // namespace

Directions::Directions(DirectionScheme scheme, std::size_t dim, std::size_t count, std::size_t block,
                       std::uint64_t seed)
    : dim_(dim),
      count_(count),
      group_(group_of(scheme, dim, count, block)),
      stride_(round_up(dim, 16)),
      tile_(std::min(count, group_ * std::max<std::size_t>(1, tile_directions / group_))),
      bits_(seed, direction_tag),
      normals_(round_up(dim, 4) * std::max<std::size_t>(1, at_once / dim)),
      values_(tile_ * stride_),
      along_(group_) {}

DirectionTile Directions::tile(std::uint32_t step, std::uint32_t slot, std::size_t first) {
  const std::size_t count = std::min(tile_, count_ - first);
  const std::size_t padded = round_up(dim_, 4), rows = normals_.size() / padded;
  for (std::size_t j = 0; j < count; j += rows) {
    const std::size_t now = std::min(rows, count - j);
    const PublicCounter::Grid grid{.blocks = static_cast<std::uint32_t>(padded / 4),
                                   .first_row = static_cast<std::uint32_t>(first + j),
                                   .rows = static_cast<std::uint32_t>(now),
                                   .c2 = slot,
                                   .c3 = step};
    bits_.normals(grid, std::span(normals_).first(now * padded));
    for (std::size_t i = 0; i < now; ++i)
      std::copy_n(normals_.data() + i * padded, dim_, values_.data() + (j + i) * stride_);
  }
  for (std::size_t j = 0; j < count; j += group_) {
    double* group = values_.data() + j * stride_;
    group_ == 1 ? normalise(group, stride_) : orthonormalise(group, group_, stride_, along_.data());
  }
  return {values_.data(), first, count, stride_};
}

}  // namespace dpmpi
