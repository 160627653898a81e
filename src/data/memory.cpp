#include <charconv>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/file.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The first number in a file, or `otherwise` ("max", no such file).
std::uint64_t number_in(const char* path, std::uint64_t otherwise) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  return in >> value ? value : otherwise;
}

std::uint64_t free_on_machine() {
  std::ifstream in("/proc/meminfo");
  for (std::string key, unit; in >> key;) {
    std::uint64_t kib = 0;
    if (!(in >> kib)) break;
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(in, unit);
  }
  return unlimited;
}

std::uint64_t free_in_cgroup() {
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max", unlimited);
  if (limit == unlimited) return unlimited;
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current", 0);
  return limit > used ? limit - used : 0;
}

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({:.2f} GiB)", bytes, static_cast<double>(bytes) / 1073741824.0);
}

}  // namespace

std::uint64_t available_memory() { return std::min(free_on_machine(), free_in_cgroup()); }

void check_memory(std::uint64_t needed, std::uint64_t available, const std::string& what) {
  if (needed <= available) return;
  throw DataError(
      fmt::format("{} needs {} of memory, but only {} are available: use more ranks on more machines, or fewer "
                  "records or features",
                  what, gibibytes(needed), gibibytes(available)));
}

}  // namespace dpmpi
