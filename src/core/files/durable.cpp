#include "core/files/durable.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/run_file.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void fail(const std::string& path, const char* doing, int error) {
  throw DataError(fmt::format("cannot {} {}: {}{}", doing, path, std::strerror(error), advice(error)));
}

// `operation` unless a fault is injected; its result, with errno set, again where a signal interrupted it.
template <class Operation>
auto attempt(const char* where, const std::string& path, Operation operation) -> decltype(operation()) {
  if (const int error = fault_point(where, path.c_str())) {
    errno = error;
    return -1;
  }
  decltype(operation()) result;
  do result = operation();
  while (result < 0 && errno == EINTR);
  return result;
}

template <class Write>
bool write_all(std::string_view text, const std::string& path, Write write) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = attempt("write", path, [&] { return write(text.substr(done), done); });
    if (written < 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; make room there (or raise the quota), then go on";
    case EFBIG:
      return "; disk full for this user: a file-size limit (ulimit -f) is in the way";
    case EROFS:
    case EACCES:
    case EPERM:
      return "; the folder must be writable for this user on the root's node";
    case EIO:
      return "; the disk or its server reports a fault: look into that before you go on";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    default:
      return "";
  }
}

DurableFile::DurableFile(std::string path, int flags, int permissions, const char* what)
    : path_(std::move(path)), what_(what) {
  // A pipe must not make the opener wait, and what is written goes to this file alone: through no link, and not to
  // another name of the file.
  constexpr int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  file_ = attempt("open", path_, [&] { return ::open(path_.c_str(), flags | always, permissions); });
  if (file_ < 0 && errno == ELOOP) refuse_link(what_ + path_);
  if (file_ < 0) fail("open", errno);
  struct stat status {};
  const bool regular = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (regular && names() <= 1) return;
  ::close(std::exchange(file_, -1));
  if (regular)
    throw DataError(
        fmt::format("{}{} has {} names (hard links): what is written to it would also be written there. Put a copy "
                    "of the file in place of the link",
                    what_, path_, status.st_nlink));
  throw DataError(fmt::format("{}{} is no regular file, but a pipe, socket or device", what_, path_));
}

DurableFile DurableFile::create(const std::string& path, int permissions, int flags) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) dpmpi::fail(path, "remove", errno);
  return {path, flags | O_WRONLY | O_CREAT | O_EXCL, permissions};
}

DurableFile DurableFile::in_memory(const char* what) {
  DurableFile file;
  file.what_ = what;
  file.file_ = attempt("open", what, [&] { return ::memfd_create("dpmpi", MFD_CLOEXEC); });
  if (file.file_ < 0) file.fail("open in memory", errno);
  file.path_ = fmt::format("/proc/self/fd/{}", file.file_);
  return file;
}

DurableFile::~DurableFile() {
  if (file_ >= 0) ::close(file_);
}

DurableFile::DurableFile(DurableFile&& other) noexcept { *this = std::move(other); }

DurableFile& DurableFile::operator=(DurableFile&& other) noexcept {
  std::swap(path_, other.path_), std::swap(what_, other.what_), std::swap(file_, other.file_);
  return *this;
}

void DurableFile::fail(const char* doing, int error) const { dpmpi::fail(what_ + path_, doing, error); }

void DurableFile::write(std::string_view text) {
  const auto write = [&](std::string_view rest, std::size_t) { return ::write(file_, rest.data(), rest.size()); };
  if (!write_all(text, path_, write)) fail("write", errno);
}

void DurableFile::write_at(std::uint64_t offset, std::string_view text) {
  const auto write = [&](std::string_view rest, std::size_t done) {
    return ::pwrite(file_, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  };
  if (!write_all(text, path_, write)) fail("write", errno);
}

void DurableFile::sync() {
  if (attempt("fsync", path_, [&] { return ::fdatasync(file_); }) != 0) fail("sync to disk", errno);
}

void DurableFile::truncate(std::uint64_t size) {
  if (attempt("truncate", path_, [&] { return ::ftruncate(file_, static_cast<off_t>(size)); }) != 0)
    fail("cut", errno);
}

void DurableFile::narrow_to_rights_of(const std::string& path) {
  struct ::stat other {};
  if (::stat(path.c_str(), &other) != 0) return;
  const struct ::stat mine = status();
  mode_t mode = mine.st_mode & other.st_mode & 0777;
  const auto same_owner = static_cast<uid_t>(-1);
  if (mine.st_gid != other.st_gid && ::fchown(file_, same_owner, other.st_gid) != 0) mode &= ~mode_t{070};
  if (::fchmod(file_, mode) != 0) fail("set the permissions of", errno);
}

struct ::stat DurableFile::status() const {
  struct ::stat status {};
  if (::fstat(file_, &status) != 0) fail("stat", errno);
  return status;
}

std::uint64_t DurableFile::size() const { return static_cast<std::uint64_t>(status().st_size); }
std::uint64_t DurableFile::inode() const { return status().st_ino; }
std::uint64_t DurableFile::names() const { return status().st_nlink; }

bool DurableFile::in_place() const {
  struct stat mine {
  }, there{};
  return ::fstat(file_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 && there.st_ino == mine.st_ino &&
         there.st_dev == mine.st_dev;
}

void DurableFile::check_in_place() const {
  if (in_place()) return;
  throw DataError(fmt::format(
      "{}{} was removed, moved or replaced while it was being written: what comes now would be lost. Leave the files of "
      "a run alone while it works; put back the file, then go on with the run",
      what_, path_));
}

bool DurableFile::lock(bool& unsupported) {
  unsupported = false;
  if (attempt("lock", path_, [&] { return ::flock(file_, LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  unsupported = true;
  return true;
}

void DurableFile::close() {
  if (::close(std::exchange(file_, -1)) != 0) fail("close", errno);
}

void rename_file(const std::string& from, const std::string& to) {
  if (attempt("rename", to, [&] { return ::rename(from.c_str(), to.c_str()); }) != 0) fail(to, "rename to", errno);
}

void sync_folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int file =
      attempt("open", folder, [&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (file < 0) fail(folder, "open", errno);
  const int result = attempt("fsync", folder, [&] { return ::fsync(file); }), error = errno;
  ::close(file);
  if (result != 0 && error != EINVAL) fail(folder, "sync to disk", error);  // EINVAL: not supported there
}

}  // namespace dpmpi
