#pragma once
// The Python interpreter of this process.

#include <string>

#include <pybind11/embed.h>

namespace dpmpi::python {

/// Starts it, once a process; it stays. Its hashes and random numbers begin alike in every process, its libraries
/// use one thread, and it finds modules where the interpreter of this machine does (PYTHONPATH, too), but not in
/// the current folder. Throws std::runtime_error.
void start_interpreter();

/// From now on what modules print goes nowhere.
void silence();

/// What was raised, and the line of `file` that it came from: "line 12: ValueError: no such token". `records`: the
/// ones that it may speak of; of private ones its words are left out.
enum class RecordsAre { made_up, private_ };
std::string describe(pybind11::error_already_set& raised, const std::string& file, RecordsAre records);

/// Python libraries may change how this thread rounds; what follows a call computes as before.
class SameRounding {
 public:
  SameRounding();
  ~SameRounding();
  SameRounding(const SameRounding&) = delete;
  SameRounding& operator=(const SameRounding&) = delete;

 private:
  unsigned state_;
};

}  // namespace dpmpi::python
