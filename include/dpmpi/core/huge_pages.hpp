#pragma once
// Large pages for large arrays: rows in random order miss the processor's table of 4 kB pages at every row.

#include <cstddef>

namespace dpmpi {

/// Asks the system to put large pages under memory that was allocated but not yet touched. Nothing happens where it
/// has none, or for less than a few of them. Local.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace dpmpi
