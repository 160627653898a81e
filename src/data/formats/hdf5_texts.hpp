#pragma once
// The texts of a dataset, or of a member of its compound elements, as they are read piece by piece.

#include <memory>
#include <string>
#include <vector>

#include "data/formats/hdf5_cell.hpp"
#include "data/formats/hdf5_handle.hpp"

namespace dpmpi {

class Hdf5Texts {
 public:
  Hdf5Texts(const Hdf5Handle& dataset, const std::string& member, const std::string& path);

  /// How the library is to give them: texts of a fixed length themselves, of others where they are.
  const std::shared_ptr<const Hdf5Handle>& type() const { return type_; }
  /// Properties of the transfer: texts of any length go to memory that is kept until room is made for others.
  hid_t transfer() const { return transfer_.id(); }
  /// Where so many of them are read to; those that were read before are forgotten.
  std::vector<char>& room_for(std::uint64_t count);
  /// Number i of them, without what pads it. Stands until room_for().
  Hdf5Text text(std::uint64_t i) const;

 private:
  static void* allocate(std::size_t bytes, void* texts) noexcept;

  std::size_t length_;  // of a text; 0: each has its own
  bool by_blanks_;      // which pad it, and not zeros
  std::shared_ptr<const Hdf5Handle> type_;
  Hdf5Handle transfer_;
  std::vector<char> raw_;
  // Texts of any length, one behind the other. Pieces have about equally many, so blocks are seldom made.
  std::vector<std::vector<char>> blocks_;
  std::size_t block_ = 0, used_ = 0;  // the block that is filled, and its bytes that are taken
};

}  // namespace dpmpi
