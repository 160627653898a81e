#include "core/numbers/lattice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr double int32_limit = 2147483647.0;

// Nearest integer, ties to even, as the processor's vector conversion does it.
inline std::int32_t nearest(float x) { return static_cast<std::int32_t>(__builtin_rintf(x)); }

}  // namespace

double Lattice::scale() const { return std::ldexp(1.0, k); }
double Lattice::quantum() const { return std::ldexp(1.0, -k); }

namespace {

// `k` may be infinite, where a product overflows: it becomes an int behind its check.
Lattice checked(double k, double bound, double noise_std, std::uint64_t largest_batch) {
  if (!(std::abs(k) <= 100))
    throw ConfigError(
        fmt::format("a bound of {:.6g} with noise of deviation {:.3g} is out of the range of float32 arithmetic: "
                    "scale clip and data to order 1",
                    bound, noise_std));
  const Lattice lattice{static_cast<int>(k)};
  const double largest = static_cast<double>(largest_batch) * (bound * lattice.scale() + 1.0);
  if (largest >= std::ldexp(1.0, 62))
    throw ConfigError(fmt::format("a sum of {} records bounded by {} does not fit the integer lattice (2^62)",
                                  largest_batch, bound));
  return lattice;
}

}  // namespace

Lattice Lattice::choose(std::size_t dim, double bound, double noise_std, std::uint64_t largest_batch) {
  verify(bound > 0 && noise_std >= 0, "lattice needs a positive bound");
  const double fine = std::ceil(std::log2(4096.0 * std::sqrt(static_cast<double>(dim)) / bound));
  const double fits = std::floor(std::log2(int32_limit / (257.0 * bound)));
  const double fills = noise_std > 0 ? std::floor(36.0 - std::log2(noise_std)) : fine;
  return checked(std::min({fine, fits, fills}), bound, noise_std, largest_batch);
}

Lattice Lattice::finest(double bound, double noise_std, std::uint64_t largest_batch) {
  verify(bound > 0 && noise_std >= 0, "lattice needs a positive bound");
  // Half of the room for the noise.
  const double room =
      std::floor(60.0 - std::log2(bound * static_cast<double>(std::max<std::uint64_t>(1, largest_batch))));
  const double fills = noise_std > 0 ? std::floor(36.0 - std::log2(noise_std)) : std::ceil(40.0 - std::log2(bound));
  return checked(std::min(room, fills), bound, noise_std, largest_batch);
}

Lattice Lattice::roomiest(double bound, std::uint64_t count) {
  verify(bound > 0 && count > 0, "lattice needs a positive bound");
  const double room = std::floor(60.0 - std::log2(bound) - std::log2(static_cast<double>(count)));
  return checked(std::min(room, 100.0), bound, 0, count);
}

LatticeAccumulator::LatticeAccumulator(std::size_t dim, Lattice lattice, double bound, std::size_t extra,
                                       Width width)
    : lattice_(lattice),
      scale_(static_cast<float>(lattice.scale())),
      capacity_(static_cast<std::size_t>(
          width == Width::int64 ? 1e9 : std::min(1e9, int32_limit / (bound * lattice.scale() + 1.0)))),
      width_(width),
      dim_(dim),
      hot_(width == Width::int64 ? 0 : round_up(dim, 16), 0),
      total_(dim + extra, 0) {
  verify(capacity_ > 0, "one record does not fit the int32 accumulator");
}

void LatticeAccumulator::clear() {
  if (width_ == Width::int64)
    std::fill(total_.begin(), total_.end(), 0);
  else if (pending_ > 0)
    std::fill(hot_.begin(), hot_.end(), 0);
  std::fill(total_.begin() + static_cast<std::ptrdiff_t>(dim()), total_.end(), 0);
  pending_ = 0;
  fresh_ = true;
  wide_from_ = dim_;
}

void LatticeAccumulator::clear(Lattice lattice) {
  lattice_ = lattice;
  scale_ = static_cast<float>(lattice.scale());
  clear();
}

void LatticeAccumulator::begin(std::size_t rows) {
  verify(rows <= capacity_, "more records at once than the int32 accumulator holds");
  verify(wide_from_ == dim_, "the noise of a sum comes after its contributions");
  if (width_ == Width::int32 && pending_ + rows > capacity_) spill();
  pending_ += rows;
}

void LatticeAccumulator::add(std::size_t offset, std::span<const float> values) {
  if (width_ == Width::int64) return add_wide(offset, values);
  std::int32_t* to = hot_.data() + offset;
  const float scale = scale_;
  const float* from = values.data();
  for (std::size_t j = 0; j < values.size(); ++j) to[j] += nearest(scale * from[j]);
}

void LatticeAccumulator::add(std::size_t offset, std::span<const double> values) {
  if (width_ == Width::int64) return add_wide(offset, values);
  std::int32_t* to = hot_.data() + offset;
  const double scale = lattice_.scale();
  for (std::size_t j = 0; j < values.size(); ++j)
    to[j] += static_cast<std::int32_t>(__builtin_rint(scale * values[j]));
}

template <class T>
void LatticeAccumulator::add_wide(std::size_t offset, std::span<const T> values) {
  std::int64_t* to = total_.data() + offset;
  const double scale = lattice_.scale();
  for (std::size_t j = 0; j < values.size(); ++j) to[j] += std::llrint(scale * static_cast<double>(values[j]));
}

void LatticeAccumulator::spill(std::size_t first, std::size_t last) {
  if (width_ == Width::int64) return;
  std::int32_t* hot = hot_.data();
  std::int64_t* total = total_.data();
  if (fresh_) {
    for (std::size_t j = first; j < last; ++j) total[j] = hot[j], hot[j] = 0;
  } else if (pending_ > 0) {
    for (std::size_t j = first; j < last; ++j) total[j] += hot[j], hot[j] = 0;
  }
}

void LatticeAccumulator::finish(std::size_t first, std::size_t last,
                                const std::function<void(std::size_t, std::span<std::int64_t>)>& on_chunk) {
  constexpr std::size_t chunk = 1024;  // with its random words and normals within the first-level cache
  verify(first % 8 == 0 && first <= last && last <= dim_ && wide_from_ == dim_, "the coordinates of noise");
  for (std::size_t begin = first; begin < last; begin += chunk) {
    const std::size_t end = std::min(last, begin + chunk);
    spill(begin, end);
    on_chunk(begin, std::span(total_).subspan(begin, end - begin));
  }
  spill(last, dim_);
  wide_from_ = first;
  if (first == 0) spilled();
}

std::span<std::int64_t> LatticeAccumulator::behind_narrow() {
  const std::size_t front = narrow().size();
  if (front == 0) spill();
  return std::span(total_).subspan(front);
}

std::span<std::int64_t> LatticeAccumulator::totals() { return message().first(dim()); }

std::span<std::int64_t> LatticeAccumulator::message() {
  spill();
  return total_;
}

}  // namespace dpmpi
