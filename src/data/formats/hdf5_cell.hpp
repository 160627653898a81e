#pragma once
// What a record has in a dataset of an HDF5 file, as its content holds it in memory: a number, or a text.

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/archive.hpp"
#include "data/formats/arrays.hpp"

namespace dpmpi {

/// Where a text stands: in memory that the content of the file keeps until it is read again.
struct Hdf5Text {
  const char* begin = nullptr;
  std::size_t bytes = 0;
};

/// Numbers that stand for none. Of this type, as it holds integers of 64 bits and float64 alike without rounding.
using Hdf5Gaps = std::vector<long double>;
static_assert(std::numeric_limits<long double>::digits >= 64);

struct Hdf5Cell {
  bool is_text = false;
  Element element = Element::f64;  ///< of a number
  Hdf5Gaps gaps = {};

  std::size_t bytes() const { return is_text ? sizeof(Hdf5Text) : element_bytes(element); }
  /// NaN for a number that stands for none.
  double number(const char* at) const;
  /// The field as a table would write it: of a number its shortest decimal digits (all of an integer), of a NaN or
  /// a gap nothing, of a text what is between blanks. May point into `scratch`.
  std::string_view text(const char* at, std::string& scratch) const;

  bool operator==(const Hdf5Cell&) const = default;
  void archive(Archive& archive);

 private:
  bool is_gap(const char* at) const;
};

}  // namespace dpmpi
