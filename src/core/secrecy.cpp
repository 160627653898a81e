#include "core/secrecy.hpp"

#include <algorithm>
#include <fstream>

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace dpmpi {

// With a limit of 0 the kernel writes no file but still hands a dump to a program, where core_pattern names one;
// with 1 it does neither. Who may not raise a limit of 0 has the filter: it takes all mappings out of a dump.
void forbid_core_dumps() {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, 1);
  setrlimit(RLIMIT_CORE, &limit);
  std::ofstream("/proc/self/coredump_filter") << "0\n";
}

void forbid_looking_in() { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// OpenSSL's cleansing writes a word at a time, which would be a fifth of the time of a step's noise.
void wipe(void* bytes, std::size_t size) { explicit_bzero(bytes, size); }

}  // namespace dpmpi
