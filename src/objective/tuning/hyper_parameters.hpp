#pragma once
// Hyper-parameters of a model that is trained for every point, as coordinates of one box.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

/// Coordinates of hyper-parameters lie in [-box_edge, box_edge]: kernels of one length for all of them then make
/// sense, whatever units the hyper-parameters have.
inline constexpr double box_edge = 2;

/// Where a coordinate lies between the edges of the box, from 0 to 1; beyond them: at the edge. Of NaN: NaN.
double share_of(double coordinate);

/// A positive number that is fixed, or searched for between two public bounds.
struct TunedRange {
  double low = 1, high = 1;

  /// "0.1", or "0.01,10": `key` is named in errors. Throws ConfigError.
  static TunedRange parse(const std::string& key, const std::vector<std::string>& text);

  bool searched() const { return low < high; }
  /// `low` at -box_edge, `high` at box_edge, geometric between them, and constant beyond. Of NaN: NaN.
  double at(double coordinate) const;
};

/// Several of them in order: those that are searched for are the coordinates of a point.
class HyperParameters {
 public:
  /// `count` of them with the same range.
  void add(std::string name, const TunedRange& range, std::size_t count = 1);

  std::size_t dim() const { return dim_; }      ///< coordinates of a point
  std::size_t count() const { return count_; }  ///< values, fixed ones included
  std::vector<ParameterGroup> groups() const;   ///< of the coordinates
  /// All values at a point: dim() coordinates, count() values.
  void at(std::span<const double> point, std::span<double> values) const;

 private:
  struct Some {
    std::string name;
    TunedRange range;
    std::size_t count;
  };
  std::vector<Some> all_;
  std::size_t dim_ = 0, count_ = 0;
};

}  // namespace dpmpi
