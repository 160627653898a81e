#pragma once
// The one seam through which tests make things go wrong. In the product no hook is set and a point costs one load.

namespace dpmpi {

/// What happens at a point: return 0 to go on, an errno value to have the operation there fail with it; or kill the
/// process, sleep, throw, or change a file. `where` names the point, `path` the file of a file operation ("" else).
using FaultHook = int (*)(const char* where, const char* path);

/// Sets the hook of this process (tests only; null: none). Before threads start.
void set_fault_hook(FaultHook hook);

/// Passes the point `where`. File operations ("open", "write", "fsync", "rename", "truncate", "lock") treat a
/// result other than 0 as the errno that they failed with; at other points it is ignored.
int fault_point(const char* where, const char* path = "");

}  // namespace dpmpi
