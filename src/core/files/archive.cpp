#include "core/files/archive.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t longest_text = std::uint64_t{1} << 26;

}  // namespace

void TextStream::read(std::span<char> out) {
  if (out.size() > left()) throw DataError(fmt::format("{} bytes are missing", out.size() - left()));
  text_.copy(out.data(), out.size(), position_);
  position_ += out.size();
}

// Layout of a field: length of the name, name, length of the data, data. Little-endian as on all supported
// machines.
void Archive::raw(std::string_view name, void* data, std::size_t size) {
  if (!reading()) return write_raw(name, data, size);
  if (!read_raw(name, data, size))
    throw DataError(fmt::format("the saved state does not hold {} ({} bytes) at byte {}", name, size, position_));
  position_ += 16 + name.size() + size;
}

void Archive::write_raw(std::string_view name, const void* data, std::size_t size) {
  const auto number = [&](std::uint64_t value) { sink_->write({reinterpret_cast<const char*>(&value), 8}); };
  number(name.size());
  sink_->write(name);
  number(size);
  sink_->write({static_cast<const char*>(data), size});
}

bool Archive::read_raw(std::string_view name, void* data, std::size_t size) {
  if (source_->left() < 16 + name.size() + size) return false;
  if (read_number() != name.size()) return false;
  std::string stored(name.size(), '\0');
  source_->read(stored);
  if (stored != name || read_number() != size) return false;
  source_->read({static_cast<char*>(data), size});
  return true;
}

std::uint64_t Archive::read_number() {
  char bytes[8];
  source_->read(bytes);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::size_t Archive::checked_size(std::string_view name, std::uint64_t count, std::size_t width) const {
  if (count > source_->left() / width)
    throw DataError(fmt::format("the saved state is too short for {} entries of {}", count, name));
  return static_cast<std::size_t>(count);
}

void Archive::field(std::string_view name, std::string& text) {
  std::uint64_t size = text.size();
  field(name, size);
  if (reading() && size > longest_text)
    throw DataError(
        fmt::format("the saved state has {} bytes in {}; at most {} are allowed", size, name, longest_text));
  if (reading()) text.resize(checked_size(name, size, 1));
  raw(name, text.data(), text.size());
}

void Archive::finish() const {
  if (reading() && source_->left() != 0)
    throw DataError(fmt::format("the saved state has {} bytes more than expected", source_->left()));
}

}  // namespace dpmpi
