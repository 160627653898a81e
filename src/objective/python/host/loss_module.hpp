#pragma once
// A Python module of losses: what it says of itself, and its functions with arrays around them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <pybind11/embed.h>
#include <pybind11/numpy.h>

#include "dpmpi/plugin.h"

namespace dpmpi::python {

/// A module and its text, once for all objectives of this process that ask for it. Errors are std::runtime_error,
/// with words for users, or what pybind11 throws.
class LossModule {
 public:
  /// Runs `source` as the text of `file`; `parameters` is a name in it.
  LossModule(std::string file, const std::string& parameters, const std::string& source);

  const std::string& file() const { return file_; }
  dpmpi_label_kind label_kind() const { return label_kind_; }
  std::uint64_t classes() const { return classes_; }
  std::uint64_t batch() const { return batch_; }
  bool torch() const { return !torch_.is_none(); }
  /// torch itself, where the module has imported it; else None.
  const pybind11::object& torch_module() const { return torch_; }
  bool has(const char* function) const { return functions_.contains(function); }
  /// One that it has.
  const pybind11::object& function(const char* name) const { return functions_.at(name); }

 private:
  template <class T>
  T attribute(const char* name, T otherwise, const char* allowed) const;
  void take_labels();
  void take_functions();

  std::string file_;
  pybind11::module_ module_;
  pybind11::object torch_;
  std::map<std::string, pybind11::object, std::less<>> functions_;
  dpmpi_label_kind label_kind_ = DPMPI_LABEL_REAL;
  std::uint64_t classes_ = 0, batch_ = 32;
};

}  // namespace dpmpi::python
