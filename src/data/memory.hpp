#pragma once
// How much memory there is, and a message where it does not suffice.

#include <cstdint>
#include <string>

namespace dpmpi {

/// Bytes that this process can still allocate: free and reclaimable memory, or less if a control group limits it.
std::uint64_t available_memory();

/// Throws DataError with both numbers if `needed` bytes for `what` exceed `available`. A number that follows
/// private values, as the length of a text does, is no public one: it is shown as show_field does.
void check_memory(std::uint64_t needed, std::uint64_t available, const std::string& what, bool is_public = true);

/// Bytes until the nearest memory limit of this process's control group and those around it (job managers set the
/// limit of a job on an outer one); the largest number if there is none. File pages that the kernel would give up
/// count as free: reading the data fills a group with them. `membership` is the content of /proc/self/cgroup,
/// `root` where the hierarchy is mounted; versions 1 and 2.
std::uint64_t left_by_control_groups(const std::string& membership, const std::string& root);

}  // namespace dpmpi
