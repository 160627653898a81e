#pragma once
// What the kernel's control groups leave of a machine's memory.

#include <cstdint>
#include <string>

namespace dpmpi {

/// Bytes until the nearest memory limit of this process's control group and those around it (job managers set the
/// limit of a job on an outer one); the largest number if there is none. File pages that the kernel would give up
/// count as free: reading the data fills a group with them. `membership` is the content of /proc/self/cgroup,
/// `root` where the hierarchy is mounted; versions 1 and 2.
std::uint64_t free_in_cgroup(const std::string& membership, const std::string& root);

}  // namespace dpmpi
