#pragma once
// What lies in an HDF5 file.

#include <cstdint>
#include <string>
#include <vector>

#include "data/formats/arrays.hpp"
#include "data/formats/hdf5_cell.hpp"

namespace dpmpi {

/// A dataset with a number, or a row of numbers, for every record; or of a dataset of compound elements one member.
struct Hdf5Field {
  std::string name;                       ///< of the dataset, with its groups: a/b; of a member a/b/member
  std::string dataset, member = {};       ///< the parts of it
  Element element = Element::f64;         ///< as it is read: of packed numbers float64
  Element stored = Element::f64;          ///< which has all digits of those in the file
  bool is_text = false;                   ///< words, which columns and persons can be
  std::vector<std::uint64_t> shape = {};  ///< empty: a single value
  bool is_scale = false;     ///< says where the records of others stand (dimension scales, as of NetCDF)
  std::string trouble = {};  ///< why no numbers can be read; empty: they can
  bool is_lost = false;      ///< because of where its numbers are, whatever they are

  // How numbers are packed, as NetCDF says it by attributes: scale * number + offset, and which stand for none.
  double scale = 1, offset = 0;
  Hdf5Gaps gaps = {};
  bool scaled() const { return scale != 1 || offset != 0; }
  bool packed() const { return scaled() || !gaps.empty(); }
  /// Numbers of a packed field as the library gives them: those that it would round to float64 as they are.
  Hdf5Cell raw_cell() const;

  bool has_rows() const { return shape.size() > 1; }
  /// How one value lies in memory.
  Hdf5Cell cell() const { return {is_text, is_text ? Element::f64 : element}; }
  /// The same as a column is read, whose cell knows its gaps, such that the other numbers keep their digits.
  Hdf5Field as_column() const;
  Hdf5Cell column_cell() const;
  /// Why it cannot be read as a column, whose values are numbers or words; empty: it can.
  std::string trouble_of_column() const {
    if (has_rows()) return is_text ? "rows of words" : "rows of numbers";
    return is_text && !is_lost && shape.size() == 1 ? "" : trouble;
  }
  /// The name without the groups.
  std::string last_name() const { return name.substr(name.rfind('/') + 1); }
};

/// All datasets that the file itself holds, in the order of their names; members in the order of the table. Links
/// to other files are not followed. Throws DataError if the file is damaged or no HDF5 file. Local.
std::vector<Hdf5Field> hdf5_fields(const std::string& path);

/// Fields of numbers side by side as an array: its element is theirs, or float64 where they differ. They have as
/// many rows each. Throws DataError as ArrayHeader::set_shape does.
ArrayHeader array_of(const std::vector<Hdf5Field>& fields, const std::string& path);

}  // namespace dpmpi
