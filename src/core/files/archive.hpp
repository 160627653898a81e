#pragma once
// State that outlives a process. A class names each field once, in one function, for writing and for reading.

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/byte_stream.hpp"

namespace dpmpi {

class Archive {
 public:
  Archive() : sink_(&own_) {}                                                      ///< for writing, in memory
  explicit Archive(std::string bytes) : own_(std::move(bytes)), source_(&own_) {}  ///< for reading, from memory
  /// Writes each field as it is named: nothing is kept.
  explicit Archive(ByteSink& sink) : sink_(&sink) {}
  /// Reads fields straight into their places. The source may go on behind them.
  explicit Archive(ByteSource& source) : source_(&source) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  bool reading() const { return source_ != nullptr; }
  const std::string& bytes() const { return own_.text(); }  ///< of an archive in memory

  /// A number, or a vector of numbers. Reading throws DataError where name or size do not fit what is there.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void field(std::string_view name, T& value) { raw(name, &value, sizeof value); }
  template <class T, class A>
  void field(std::string_view name, std::vector<T, A>& values) {
    std::uint64_t size = values.size();
    field(name, size);
    if (reading()) values.resize(checked_size(name, size, sizeof(T)));
    raw(name, values.data(), values.size() * sizeof(T));
  }
  void field(std::string_view name, std::string& text);
  /// Reading: throws DataError unless everything was read.
  void finish() const;

 private:
  void raw(std::string_view name, void* data, std::size_t size);
  void write_raw(std::string_view name, const void* data, std::size_t size);
  bool read_raw(std::string_view name, void* data, std::size_t size);
  std::uint64_t read_number();
  std::size_t checked_size(std::string_view name, std::uint64_t count, std::size_t width) const;
  TextStream own_;
  ByteSink* sink_ = nullptr;
  ByteSource* source_ = nullptr;
  std::uint64_t position_ = 0;  // of the next field to be read
};

}  // namespace dpmpi
