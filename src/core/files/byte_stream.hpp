#pragma once
// Bytes that come and go in pieces, so that what is large need not be in memory a second time.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dpmpi {

/// Takes bytes, one piece after the other.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view bytes) = 0;
};

/// Gives a known number of bytes, one piece after the other.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next out.size() bytes; DataError if there are fewer or they cannot be read.
  virtual void read(std::span<char> out) = 0;
  virtual std::uint64_t left() const = 0;
};

/// Both ends of a text in memory.
class TextStream final : public ByteSink, public ByteSource {
 public:
  explicit TextStream(std::string text = {}) : text_(std::move(text)) {}
  void write(std::string_view bytes) override { text_.append(bytes); }
  void read(std::span<char> out) override;
  std::uint64_t left() const override { return text_.size() - position_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t position_ = 0;
};

}  // namespace dpmpi
