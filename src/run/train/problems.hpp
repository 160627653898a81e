#pragma once
// What is wrong with the inputs of a run, gathered so that it is said at once.

#include <functional>
#include <string>
#include <vector>

#include "core/errors.hpp"

namespace dpmpi {

class Problems {
 public:
  /// Runs `check`. False: it threw what a user can mend (ConfigError, DataError, PrivacyError), which is kept.
  /// Where ranks check together, all of them throw alike or none does.
  bool attempt(const std::function<void()>& check);
  bool has(ExitCode kind) const;
  /// Throws all that was kept, if there is any, as an error of the first one's kind.
  void raise() const;

 private:
  std::vector<ExitCode> kinds_;
  std::vector<std::string> texts_;
};

}  // namespace dpmpi
