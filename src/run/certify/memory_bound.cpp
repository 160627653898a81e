#include "run/certify/memory_bound.hpp"

#include <algorithm>
#include <fstream>

#include <unistd.h>

namespace dpmpi {
namespace {

// Bytes of data and stack, which is what RLIMIT_DATA counts (the sixth number of that file, in pages).
std::uint64_t data_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t pages = 0;
  for (int i = 0; i < 6; ++i) in >> pages;
  return in ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

MemoryBound::MemoryBound(std::uint64_t more) {
  const std::uint64_t now = data_bytes();
  if (::getrlimit(RLIMIT_DATA, &before_) != 0) before_ = {RLIM_INFINITY, RLIM_INFINITY};
  if (now == 0 || more > RLIM_INFINITY - now) return;  // it is not known, or as good as none
  const rlimit bound{std::min<rlim_t>(now + more, before_.rlim_cur), before_.rlim_max};
  ::setrlimit(RLIMIT_DATA, &bound);
}

MemoryBound::~MemoryBound() { ::setrlimit(RLIMIT_DATA, &before_); }

}  // namespace dpmpi
