#pragma once
// How large the numbers of a column are, from counts of records in cells: first in octaves of all sizes, then twice
// in even cells of the part that holds them. The counts have noise; what follows from them is public.

#include <cstddef>
#include <span>

namespace dpmpi {

/// Missing values are read as this number, and numbers beyond its size as it or its opposite.
inline constexpr double missing_number = -1e30;
inline bool is_missing_number(double x) { return x <= 0.9 * missing_number; }

/// Ends of what is looked at.
struct Bounds {
  double low = 0, high = 0;
  double width() const { return high - low; }
};

/// Cells of numbers of any size: that of missing ones; octaves of |x| from 2^-32 to 2^64, of both signs, what lies
/// beyond in the last; and between the signs one for all that is nearer to 0.
struct OctaveCells {
  static constexpr int smallest = -32, octaves = 96;
  static constexpr std::size_t missing = 0, zero = 1 + octaves, count = 2 + 2 * octaves;
  static std::size_t cell(double x);
  static Bounds bounds(std::size_t cell);  ///< but of missing ones
};

/// Even cells; numbers beyond the bounds count in the nearest.
struct EvenCells {
  static constexpr std::size_t count = 32;
  static std::size_t cell(const Bounds& bounds, double x);
};

/// `counts`: OctaveCells::count of them, whose noise has this standard deviation. From the first cell to the last
/// with a count that noise does not make, and one octave on either side.
Bounds bounds_of_octaves(std::span<const double> counts, double noise_std);

/// Whether no octave (missing values are in none) holds more than noise may make it seem: then bounds_of_octaves is
/// a guess.
bool are_noise(std::span<const double> counts, double noise_std);

/// `counts`: EvenCells::count of them. Without the ends that hold nothing but noise, and a third more than is left.
Bounds narrowed(const Bounds& bounds, std::span<const double> counts, double noise_std);

/// What a column's values are divided by, and what lies beyond `range` counts as its nearer end.
struct Scale {
  double mean = 0, deviation = 1;
  Bounds range;
};
/// `last`: the bounds of these counts; `first`: those of the octaves, which the range keeps.
Scale scale_of(const Bounds& first, const Bounds& last, std::span<const double> counts, double noise_std);

}  // namespace dpmpi
