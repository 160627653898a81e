#pragma once
// Writing so that it stays written: every file of a run directory is opened, written, synced, cut and renamed here
// and nowhere else. Errors are DataError with the file, the system's reason and what to do; each operation passes a
// fault point.

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace dpmpi {

/// An open file. Movable, closed when destroyed.
class DurableFile {
 public:
  DurableFile() = default;
  /// open(2) with O_CLOEXEC. `what` is put before the path in messages, e.g. "ledger ".
  DurableFile(std::string path, int flags, int permissions, const char* what = "");
  /// A new file for writing, in place of whatever has this name: what another process left or holds open there gets
  /// no byte of it, and no link is followed.
  static DurableFile create(const std::string& path, int permissions, int flags = 0);
  /// A file that has no name and is gone when it is closed, also by a kill. Its path is that of the descriptor.
  static DurableFile in_memory(const char* what);
  ~DurableFile();
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&& other) noexcept;

  /// All of `text`. If it throws, a part may be in the file.
  void write(std::string_view text);
  /// All of `text` over what stands at `offset`.
  void write_at(std::uint64_t offset, std::string_view text);
  /// Waits until content and size are on the disk. A sync that failed must not be tried again: the system may have
  /// dropped the pages.
  void sync();
  void truncate(std::uint64_t size);
  /// Takes from it what the file at `path`, if there is one, does not permit: nobody may read it who could not read
  /// that. It gets that file's group, too, or permits its group nothing. It never permits more than before: who put
  /// the other file there may not be its owner's friend.
  void narrow_to_rights_of(const std::string& path);
  std::uint64_t size() const;
  std::uint64_t inode() const;  ///< the file's number: a copy has another one
  std::uint64_t names() const;  ///< how many there are for this file: more than one by hard links
  /// Locks the file against other processes until it is closed. False if another process holds it; `unsupported` is
  /// set where the file system has no locks.
  bool lock(bool& unsupported);
  /// The path leads to this file.
  bool in_place() const;
  /// Throws DataError if it no longer does: the file was removed, moved or replaced (by an editor, sed -i or rsync,
  /// say), and what is written from then on would be lost when it is closed.
  void check_in_place() const;
  bool is_open() const { return file_ >= 0; }
  const std::string& path() const { return path_; }
  void close();  ///< reports an error that only close(2) sees

 private:
  [[noreturn]] void fail(const char* doing, int error) const;
  struct ::stat status() const;
  std::string path_;
  const char* what_ = "";
  int file_ = -1;
};

/// rename(2): replaces `to`.
void rename_file(const std::string& from, const std::string& to);
/// Makes the directory entry of `path` durable (where the file system can).
void sync_folder_of(const std::string& path);

/// What to do about an errno of a file operation, as the end of a message: "; make room ...", or "".
std::string advice(int error);

}  // namespace dpmpi
