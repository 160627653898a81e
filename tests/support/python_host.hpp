#pragma once
// Whether this build has the interpreter for objective.name = python.

#include <filesystem>

namespace dpmpi::test {

/// Beside this program, as beside the product: not in builds without pybind11, nor in the sanitizers' twin.
inline bool has_python_host() {
  namespace fs = std::filesystem;
  return fs::is_regular_file(fs::read_symlink("/proc/self/exe").parent_path() / "libdpmpi_python.so");
}

}  // namespace dpmpi::test
