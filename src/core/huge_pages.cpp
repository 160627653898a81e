#include "dpmpi/core/huge_pages.hpp"

#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace dpmpi {

void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr std::size_t worthwhile = std::size_t{8} << 20;
  const long page = sysconf(_SC_PAGESIZE);
  if (bytes < worthwhile || page <= 0) return;
  const auto unit = static_cast<std::uintptr_t>(page), begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + unit - 1) / unit * unit, last = (begin + bytes) / unit * unit;
  // An advice: where it is refused, pages stay small.
  (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace dpmpi
