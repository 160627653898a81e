#pragma once
// `dpmpi evaluate --private`: a look at private records.

#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "core/options.hpp"
#include "run/look/look.hpp"

namespace dpmpi {

/// What was typed of a look.
struct LookTyped {
  std::string people;  ///< --private; empty: no look is asked for
  std::optional<double> epsilon;
  LookRequest request;
  bool asked() const { return !people.empty(); }
};

/// Declares its options behind those that there are.
Options options_of_looks(Options options, LookTyped& typed);
/// Throws ConfigError where they do not go together. Completes the request.
void check_look(LookTyped& typed);
/// Takes the look. Collective; the root prints. Returns the exit code.
int show_look(const Communicator& comm, const ModelToScore& model, const LookRequest& request, bool json);

}  // namespace dpmpi
