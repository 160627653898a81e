#include "data/formats/hdf5_texts.hpp"

#include <algorithm>
#include <cstring>

namespace dpmpi {
namespace {

Hdf5Handle stored_type(const Hdf5Handle& dataset, const std::string& member, const std::string& path) {
  Hdf5Handle whole(H5Dget_type(dataset.id()), H5Tclose, path);
  if (member.empty()) return whole;
  const int place = H5Tget_member_index(whole.id(), member.c_str());
  return {H5Tget_member_type(whole.id(), static_cast<unsigned>(std::max(place, 0))), H5Tclose, path};
}

}  // namespace

Hdf5Texts::Hdf5Texts(const Hdf5Handle& dataset, const std::string& member, const std::string& path)
    : transfer_(H5Pcreate(H5P_DATASET_XFER), H5Pclose, path) {
  Hdf5Handle text = stored_type(dataset, member, path);
  length_ = H5Tis_variable_str(text.id()) > 0 ? 0 : H5Tget_size(text.id());
  by_blanks_ = H5Tget_strpad(text.id()) == H5T_STR_SPACEPAD;
  H5Pset_vlen_mem_manager(
      transfer_.id(), allocate, this, [](void*, void*) {}, nullptr);
  if (member.empty()) {
    type_ = std::make_shared<Hdf5Handle>(std::move(text));
    return;
  }
  const Hdf5Handle row(H5Tcreate(H5T_COMPOUND, H5Tget_size(text.id())), H5Tclose, path);
  H5Tinsert(row.id(), member.c_str(), 0, text.id());
  type_ = std::make_shared<Hdf5Handle>(H5Tcopy(row.id()), H5Tclose, path);
}

std::vector<char>& Hdf5Texts::room_for(std::uint64_t count) {
  raw_.resize(count * (length_ == 0 ? sizeof(char*) : length_));
  block_ = used_ = 0;
  return raw_;
}

Hdf5Text Hdf5Texts::text(std::uint64_t i) const {
  if (length_ == 0) {
    const auto* const begin = number_at<const char*>(raw_.data() + i * sizeof(char*));
    return begin == nullptr ? Hdf5Text{"", 0} : Hdf5Text{begin, std::strlen(begin)};
  }
  const char* const begin = raw_.data() + i * length_;
  std::size_t bytes = strnlen(begin, length_);
  while (by_blanks_ && bytes > 0 && begin[bytes - 1] == ' ') --bytes;
  return {begin, bytes};
}

void* Hdf5Texts::allocate(std::size_t bytes, void* texts) noexcept {
  constexpr std::size_t usual = std::size_t{1} << 20;
  auto& mine = *static_cast<Hdf5Texts*>(texts);
  try {
    while (mine.block_ < mine.blocks_.size() && mine.blocks_[mine.block_].size() - mine.used_ < bytes)
      ++mine.block_, mine.used_ = 0;
    if (mine.block_ == mine.blocks_.size()) mine.blocks_.emplace_back(std::max(bytes, usual)), mine.used_ = 0;
  } catch (...) {
    return nullptr;  // the library reports it
  }
  char* const begin = mine.blocks_[mine.block_].data() + mine.used_;
  mine.used_ += bytes;
  return begin;
}

}  // namespace dpmpi
