#pragma once
// The programs that tests start. They stand beside the running test program, so that one test's object is linked
// for the product and for its twin under sanitizers.

#include <filesystem>
#include <string>

namespace dpmpi::test {

inline std::filesystem::path folder_of_tests() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// The product.
inline std::string program() { return folder_of_tests().parent_path() / "dpmpi"; }

/// The product with a fault that its first argument names (support/fault_program.cpp).
inline std::string fault_program() { return folder_of_tests() / "fault_program"; }

extern "C" __attribute__((weak)) void __asan_init();

/// Whether AddressSanitizer watches this process and the programs that it starts.
inline bool sanitized() { return __asan_init != nullptr; }

}  // namespace dpmpi::test
