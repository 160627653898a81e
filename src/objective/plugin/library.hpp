#pragma once
// Code that a config names: the shared object of objective.library. Whoever loads it runs it, so a config that came
// with a run directory does not decide that by itself.

#include <string>

#include "objective/objective.hpp"

namespace dpmpi {

/// Builds an objective that is code in a file. Nothing is loaded before the objective, or what it says of labels,
/// is asked for; and then only a file that has the SHA-256 in objective.library_digest.
class LibraryBuilder : public ObjectiveEntry::Builder {
 public:
  LibraryBuilder* code() final { return this; }
  virtual const std::string& library() const = 0;  ///< as the config has it; empty if it has none
  /// Takes the file's SHA-256 into objective.library_digest. Throws ConfigError if it cannot be read or is not
  /// named by a path, PrivacyError if another digest stands there.
  virtual void identify() = 0;
  /// From now on whoever asks for the code gets a ConfigError with these words, unless permit_library was called.
  virtual void refuse(std::string why) = 0;
  virtual const std::string& refusal() const = 0;  ///< empty: none
};

/// Lets this process load the file that configs name like this, although they were refused.
void permit_library(const std::string& library);

}  // namespace dpmpi
