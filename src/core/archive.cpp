#include "dpmpi/core/archive.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {

// Layout of a field: length of the name, name, length of the data, data. Little-endian as on all supported
// machines.
void Archive::raw(std::string_view name, void* data, std::size_t size) {
  const std::uint64_t name_size = name.size(), data_size = size;
  if (!reading_) {
    bytes_.append(reinterpret_cast<const char*>(&name_size), 8).append(name);
    bytes_.append(reinterpret_cast<const char*>(&data_size), 8).append(static_cast<const char*>(data), size);
    return;
  }
  const std::size_t need = 16 + name.size() + size;
  std::uint64_t stored_name = 0, stored_data = 0;
  bool fits = position_ + need <= bytes_.size();
  if (fits) {
    std::memcpy(&stored_name, bytes_.data() + position_, 8);
    std::memcpy(&stored_data, bytes_.data() + position_ + 8 + name.size(), 8);
    fits = stored_name == name_size && bytes_.compare(position_ + 8, name.size(), name) == 0 &&
           stored_data == data_size;
  }
  if (!fits)
    throw DataError(fmt::format("the saved state does not hold {} ({} bytes) at byte {}", name, size, position_));
  if (size > 0) std::memcpy(data, bytes_.data() + position_ + 16 + name.size(), size);
  position_ += need;
}

std::size_t Archive::checked_size(std::string_view name, std::uint64_t count, std::size_t width) const {
  if (count > (bytes_.size() - position_) / width)
    throw DataError(fmt::format("the saved state is too short for {} entries of {}", count, name));
  return static_cast<std::size_t>(count);
}

void Archive::field(std::string_view name, std::string& text) {
  std::uint64_t size = text.size();
  field(name, size);
  if (reading_) text.resize(checked_size(name, size, 1));
  raw(name, text.data(), text.size());
}

void Archive::finish() const {
  if (reading_ && position_ != bytes_.size())
    throw DataError(fmt::format("the saved state has {} bytes more than expected", bytes_.size() - position_));
}

}  // namespace dpmpi
