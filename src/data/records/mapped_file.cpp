#include "data/records/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::string_view lost_page =
    "\ndata error: a page of a mapped file could not be read: a file of data.train was cut short while the run read it "
    "(data.memory = map), or its disk failed. Nothing of this step was released; put the file back and resume\n";

// Only write and _exit: anything else is unsafe in a handler.
void on_lost_page(int) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, lost_page.data(), lost_page.size());
  _exit(static_cast<int>(ExitCode::data));
}

void catch_lost_pages() {
  struct sigaction action = {};
  action.sa_handler = on_lost_page;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

[[noreturn]] void refuse_mapping(const std::string& path, int error) {
  throw DataError(fmt::format("{}: cannot be mapped: {}: leave data.memory = map out", path, std::strerror(error)));
}

}  // namespace

MappedFile::MappedFile(int descriptor, std::string path)
    : descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)), path_(std::move(path)) {
  if (descriptor_ < 0) refuse_mapping(path_, errno);
  opened_ = stamp();
}

MappedFile::~MappedFile() { close(descriptor_); }

MappedFile::Stamp MappedFile::stamp() const {
  struct stat info {};
  if (fstat(descriptor_, &info) != 0)
    throw DataError(fmt::format("{} cannot be looked at: {}", path_, std::strerror(errno)));
  return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

void MappedFile::check_unchanged() const {
  if (stamp() == opened_) return;
  throw DataError(fmt::format(
      "{} was changed while the run read it (data.memory = map): its records are no longer those that were checked. "
      "Nothing of this step was released; put the file back and resume, or start again",
      path_));
}

// Pages without a file first, which read as zeros and take no memory; those of the file over their beginning.
std::shared_ptr<const char> MappedFile::map(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) const {
  catch_lost_pages();
  const std::uint64_t lead = begin % page_bytes(), length = std::max<std::uint64_t>(1, lead + bytes);
  void* const pages = mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) refuse_mapping(path_, errno);
  std::shared_ptr<const char> whole(static_cast<const char*>(pages),
                                    [pages, length](const char*) { munmap(pages, length); });
  const std::uint64_t of_file = std::min(end - std::min(begin, end), bytes);
  if (of_file > 0 && mmap(pages, lead + of_file, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_,
                          static_cast<off_t>(begin - lead)) == MAP_FAILED)
    refuse_mapping(path_, errno);
  return {whole, whole.get() + lead};
}

}  // namespace dpmpi
