#pragma once
// Reading files that may come from anybody: those of a run directory, ledgers, lists of events, configs. Only
// regular files are read, none that is larger than its kind can be, and nothing waits for a writer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/files/byte_stream.hpp"

namespace dpmpi {

/// The largest files that are read whole, in bytes. What dpmpi writes is far below.
namespace file_limit {
inline constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
inline constexpr std::uint64_t config = mebibyte;         ///< config.ini, trainer.ini
inline constexpr std::uint64_t document = 16 * mebibyte;  ///< plan, certificate, audit, ROC curve
inline constexpr std::uint64_t picture = 64 * mebibyte;
inline constexpr std::uint64_t lines = 256 * mebibyte;    ///< ledgers and other lists of events, metrics, times
inline constexpr std::uint64_t library = 256 * mebibyte;  ///< objective.library
inline constexpr std::uint64_t none =
    ~std::uint64_t{0};  ///< what is read in pieces and is as large as it has to be
}  // namespace file_limit

/// A file that is read in pieces, as long as it was when it was opened. Errors are DataError with the reason.
class FileReader final : public ByteSource {
 public:
  /// `shown`: what messages call it, if not by its path.
  explicit FileReader(const std::string& path, const std::string& shown = {});
  ~FileReader() override;
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) = delete;
  void read(std::span<char> out) override;
  std::uint64_t left() const override { return size_ - position_; }
  std::uint64_t size() const { return size_; }
  void go_to(std::uint64_t offset);              ///< at most size()
  void refuse_larger(std::uint64_t most) const;  ///< DataError with size and limit
  /// Hands all that is left to `take`, piece by piece.
  template <class Take>
  void drain(Take&& take) {
    std::string piece;
    while (left() > 0) {
      piece.resize(std::min<std::uint64_t>(left(), piece_bytes));
      read(piece);
      take(std::string_view(piece));
    }
  }

  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

 private:
  std::string shown_;
  int file_;
  std::uint64_t size_ = 0, position_ = 0;
};

/// All of a file of at most `most` bytes; DataError with its size and what is allowed otherwise.
std::string read_file(const std::string& path, std::uint64_t most = file_limit::picture,
                      const std::string& shown = {});
/// SHA-256 of the same.
std::string file_digest(const std::string& path, std::uint64_t most = file_limit::none);

}  // namespace dpmpi
