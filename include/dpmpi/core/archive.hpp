#pragma once
// State that outlives a process. A class names each field once, in one function, for writing and for reading.

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dpmpi/core/aligned.hpp"

namespace dpmpi {

class Archive {
 public:
  Archive() = default;                                                               ///< for writing
  explicit Archive(std::string bytes) : bytes_(std::move(bytes)), reading_(true) {}  ///< for reading
  bool reading() const { return reading_; }
  const std::string& bytes() const { return bytes_; }

  /// A number, or a vector of numbers. Reading throws DataError where name or size do not fit what is there.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void field(std::string_view name, T& value) { raw(name, &value, sizeof value); }
  template <class T, class A>
  void field(std::string_view name, std::vector<T, A>& values) {
    std::uint64_t size = values.size();
    field(name, size);
    if (reading_) values.resize(checked_size(name, size, sizeof(T)));
    raw(name, values.data(), values.size() * sizeof(T));
  }
  void field(std::string_view name, std::string& text);
  /// Reading: throws DataError unless everything was read.
  void finish() const;

 private:
  void raw(std::string_view name, void* data, std::size_t size);
  std::size_t checked_size(std::string_view name, std::uint64_t count, std::size_t width) const;
  std::string bytes_;
  std::size_t position_ = 0;
  bool reading_ = false;
};

}  // namespace dpmpi
