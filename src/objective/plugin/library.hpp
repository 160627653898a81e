#pragma once
// Code that a config names: the shared object of objective.library, the module of objective.module. Whoever loads
// it runs it, so a config that came with a run directory does not decide that by itself.

#include <cstdint>
#include <string>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

/// Builds an objective that is code in a file. Nothing is loaded before the objective, or what it says of labels,
/// is asked for; and then only a file that has the SHA-256 in the digest's option.
class LibraryBuilder : public ObjectiveEntry::Builder {
 public:
  LibraryBuilder* code() final { return this; }
  std::string key() const;                              ///< the option that names the file, as "objective.library"
  const std::string& library() const { return path_; }  ///< as the config has it; empty if it has none
  /// All files whose bytes decide what losses are: that one, and what runs it.
  virtual std::vector<std::string> files() const { return {path_}; }
  /// Takes the file's SHA-256 into the digest's option. Throws ConfigError if it cannot be read or is not named by
  /// a path, PrivacyError if another digest stands there.
  void identify();
  /// From now on whoever asks for the code gets a ConfigError with these words, unless permit_library was called.
  void refuse(std::string why) { refusal_ = std::move(why); }
  const std::string& refusal() const { return refusal_; }  ///< empty: none

 protected:
  struct Words {
    const char *option, *kind;   ///< "library", "plugin"
    const char *missing, *help;  ///< what a config without it lacks; of the option
    std::uint64_t most_bytes;    ///< of the file
  };
  explicit LibraryBuilder(const Words& words) : words_(words) {}
  void declare_file(Options& options);
  /// Throws ConfigError unless a file is named and may be loaded.
  void check_allowed() const;
  /// Throws PrivacyError unless the file's bytes have the digest that was recorded, or none was; `found`: theirs.
  void check_digest() const;
  void check_digest(const std::string& found) const;

 private:
  std::string digest_of_file() const;

  Words words_;
  std::string path_, digest_, refusal_;
};

/// Lets this process load the file that configs name like this, although they were refused.
void permit_library(const std::string& library);

}  // namespace dpmpi
