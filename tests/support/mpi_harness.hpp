#pragma once
// Tests on ranks: the program is launched once with 8 ranks, and each test runs its body on sub-communicators of
// many sizes.

#include <functional>
#include <initializer_list>

#include <gtest/gtest.h>

#include "comm/communicator.hpp"

namespace dpmpi::test {

/// All ranks of the launch.
const Communicator& world();

/// Runs `body` on the first s ranks for each s; the others wait. An exception in `body` ends the whole launch at
/// once, because its peers may be waiting for it in a collective.
void for_each_size(std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body);

}  // namespace dpmpi::test
