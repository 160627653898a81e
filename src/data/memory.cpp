#include "data/memory.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The first number in a file, or `otherwise` ("max", no such file).
std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
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

/// The number behind `key` in a file of "key number" lines; 0 if there is none.
std::uint64_t entry_in(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  for (std::string name; in >> name >> value;)
    if (name == key) return value;
  return 0;
}

struct CgroupFiles {
  const char *limit, *used, *reclaimable;
};

std::uint64_t free_in_group(const std::string& folder, const CgroupFiles& files) {
  const std::uint64_t limit = number_in(folder + files.limit, unlimited);
  if (limit == unlimited) return unlimited;
  const std::uint64_t used = number_in(folder + files.used, 0);
  const std::uint64_t kept = used - std::min(used, entry_in(folder + "/memory.stat", files.reclaimable));
  return limit - std::min(limit, kept);
}

/// The group `path` below `root` and all around it. In a container `path` may be the host's: what is not there is
/// unlimited, and the mount's own root is always looked at.
std::uint64_t free_up_to_root(const std::string& root, std::string path, const CgroupFiles& files) {
  std::uint64_t least = free_in_group(root, files);
  for (; path.size() > 1 && path.front() == '/'; path.resize(path.rfind('/')))
    least = std::min(least, free_in_group(root + path, files));
  return least;
}

std::string whole_text(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({:.2f} GiB)", bytes, static_cast<double>(bytes) / 1073741824.0);
}

}  // namespace

// Lines are ID:CONTROLLERS:PATH; version 2 has the one with ID 0 and no controllers.
std::uint64_t left_by_control_groups(const std::string& membership, const std::string& root) {
  constexpr CgroupFiles version_1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
  constexpr CgroupFiles version_2{"/memory.max", "/memory.current", "inactive_file"};
  std::uint64_t least = unlimited;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      least = std::min(least, free_up_to_root(root, path, version_2));
    else if (controllers.find(",memory,") != controllers.npos)
      least = std::min(least, free_up_to_root(root + "/memory", path, version_1));
  }
  return least;
}

std::uint64_t available_memory() {
  return std::min(free_on_machine(), left_by_control_groups(whole_text("/proc/self/cgroup"), "/sys/fs/cgroup"));
}

void check_memory(std::uint64_t needed, std::uint64_t available, const std::string& what, bool is_public) {
  if (needed <= available) return;
  throw DataError(fmt::format(
      "{} needs {} of memory, but only {} are available: use more ranks on more machines, or fewer records or features",
      what, is_public ? gibibytes(needed) : show_number(gibibytes(needed)), gibibytes(available)));
}

}  // namespace dpmpi
