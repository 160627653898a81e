#include "core/files/run_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// What stands under a name, a link as itself, held fast: nobody can put a link in its place between look and use.
class Held {
 public:
  explicit Held(const std::string& path) : file_(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {}
  ~Held() {
    if (file_ >= 0) ::close(file_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  bool is_there() const { return file_ >= 0; }
  bool is_link() const {
    struct stat status {};
    return ::fstat(file_, &status) != 0 || S_ISLNK(status.st_mode);
  }
  std::string way() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

}  // namespace

void refuse_link(const std::string& shown) {
  throw DataError(
      fmt::format("{} is a symbolic link: the files of a run stand in its own directory, and no link is followed "
                  "out of it. Put the file itself in place of the link",
                  shown));
}

void check_no_link(const std::string& path) {
  std::error_code unreadable;
  if (std::filesystem::is_symlink(path, unreadable)) refuse_link(path);
}

FileReader open_run_file(const std::string& path, const std::string& shown) {
  const std::string& name = shown.empty() ? path : shown;
  const Held held(path);
  if (!held.is_there()) throw DataError(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  if (held.is_link()) refuse_link(name);
  return FileReader(held.way(), name);
}

std::string read_run_file(const std::string& path, std::uint64_t most, const std::string& shown) {
  FileReader file = open_run_file(path, shown);
  file.refuse_larger(most);
  std::string text(file.left(), '\0');
  file.read(text);
  return text;
}

}  // namespace dpmpi
