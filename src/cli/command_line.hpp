#pragma once
// What the user typed.

#include "cli/commands.hpp"
#include "core/console/log.hpp"

namespace dpmpi {

struct CommandLine {
  Command command;  ///< with its options filled
  LogLevel level = LogLevel::info;
};

/// Throws ConfigError for an unknown command (with the nearest one), or with everything that is wrong with the
/// options and arguments of a known one.
CommandLine parse_command_line(int argc, const char* const* argv);

/// With names as they are typed: "--eval-records" for "eval_records".
std::vector<Options::Declaration> typed_options(const Options& options);
/// The options of every command.
std::vector<Options::Declaration> shared_options();

}  // namespace dpmpi
