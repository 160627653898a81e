#include "run/directory/lock.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "core/files/run_file.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {
namespace {

// Who holds a lock. A process number alone may have been given to somebody else since.
struct Owner {
  std::string host, boot;
  long process = 0;
  std::string started;  // clock ticks after the boot
  bool operator==(const Owner&) const = default;
};

std::string first_word(const char* path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

// Field 22 of /proc/PID/stat; the second, the program's name, may hold spaces. Empty if there is no such process.
std::string start_of(long process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

Owner myself() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  return {host, first_word("/proc/sys/kernel/random/boot_id"), getpid(), start_of(getpid())};
}

std::string text_of(const Owner& owner) {
  return fmt::format("{} {} {} {}\n", owner.host, owner.boot, owner.process, owner.started);
}

std::optional<Owner> owner_in(const std::string& path) {
  std::string text;
  try {
    text = read_run_file(path, 4096);
  } catch (const DataError&) {
    return std::nullopt;
  }
  std::istringstream in(text);
  Owner owner;
  if (in >> owner.host >> owner.boot >> owner.process >> owner.started) return owner;
  return std::nullopt;
}

// Only somebody on the same machine can tell.
bool is_gone(const Owner& owner) {
  const Owner me = myself();
  return owner.host == me.host && (owner.boot != me.boot || start_of(owner.process) != owner.started);
}

[[noreturn]] void refuse(const std::string& run, const std::optional<Owner>& owner, bool by_kernel) {
  const std::string who = owner ? fmt::format("process {} on {}", owner->process, owner->host) : "another process";
  const std::string cure =
      by_kernel ? "wait for it, or end it"
                : fmt::format("if it no longer runs, remove {}/lock (this file system cannot tell)", run);
  throw ConfigError(fmt::format("run directory {} is in use by {}: {}", run, who, cure));
}

bool still_at(const std::string& path, const DurableFile& file) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_ino == file.inode();
}

// Takes away the file of an owner that is gone. Of two that try at once one finds the other's fresh lock in its
// hand and puts it back.
void remove_stale(const std::string& path, const Owner& gone) {
  const std::string mine = fmt::format("{}.{}", path, getpid());
  if (::rename(path.c_str(), mine.c_str()) != 0) return;
  if (owner_in(mine) != gone && ::link(mine.c_str(), path.c_str()) != 0 && errno != EEXIST)
    throw DataError(fmt::format("cannot put back {}", path));
  ::unlink(mine.c_str());
}

}  // namespace

RunLock::RunLock(const std::string& run) {
  const std::string path = run + "/lock";
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto exists = [&] { return std::filesystem::exists(std::filesystem::symlink_status(path)); };
    const bool found = exists();
    DurableFile file;
    try {
      file = DurableFile(path, O_RDWR | O_CREAT | (found ? 0 : O_EXCL), 0644);
    } catch (const DataError&) {
      if (!found && exists()) continue;  // somebody was faster
      throw;
    }
    bool unsupported = false;
    if (!file.lock(unsupported)) refuse(run, owner_in(path), true);
    if (!still_at(path, file)) continue;  // its last holder removed it
    if (unsupported && found) {
      const auto owner = owner_in(path);
      if (!owner || !is_gone(*owner)) refuse(run, owner, false);
      remove_stale(path, *owner);
      continue;
    }
    file.truncate(0);
    file.write_at(0, text_of(myself()));
    path_ = path;
    file_ = std::move(file);
    return;
  }
  refuse(run, std::nullopt, true);
}

RunLock::~RunLock() {
  if (file_.is_open()) ::unlink(path_.c_str());
}

bool run_is_locked(const std::string& run_directory) {
  const auto owner = owner_in(run_directory + "/lock");
  return owner && !is_gone(*owner);
}

}  // namespace dpmpi
