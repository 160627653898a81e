#pragma once
// Code that the config of a run directory names (objective.library): who says that it may be loaded, and what is
// checked before it is.

#include <string>

#include "run/config/config.hpp"

namespace dpmpi {

/// Before the objective of a run directory's config is made from code that the command line named: throws
/// PrivacyError unless the directory verifies. Does nothing for other configs.
void verify_before_code(const RunConfig& config);

/// Why the code that this config, or its trainer's, names is not loaded; empty: none is, or it may be.
std::string refusal_of_code(const RunConfig& config);

/// Lets it be loaded after all: somebody has proved where the config comes from.
void permit_code(const RunConfig& config);

/// True if the file is this user's own, here and under no other name: with the mode that read_key asks for, nobody
/// else can have written it.
bool is_own_file(const std::string& path);

}  // namespace dpmpi
