#pragma once
// Secrets stay in the memory of the process that needs them, for as long as it needs them.

#include <cstddef>

namespace dpmpi {

/// No core dump of this process or of what it starts holds any of their memory, wherever the machine sends dumps.
/// Cannot be taken back.
void forbid_core_dumps();

/// Other processes of this user may not look into this one (a debugger that attaches, gcore, /proc/PID/mem). Not
/// for a rank that shares its machine with another: MPI libraries let such ranks read each other's memory.
void forbid_looking_in();

/// Overwrites what a secret passed through; the compiler may not leave it out.
void wipe(void* bytes, std::size_t size);
template <class Container>
void wipe(Container& values) {
  wipe(values.data(), values.size() * sizeof *values.data());
}

}  // namespace dpmpi
