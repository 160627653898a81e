#pragma once
#include <cstddef>

namespace dpmpi::test {

/// Calls of operator new (of every kind) in this process so far.
std::size_t allocation_count();

}  // namespace dpmpi::test
