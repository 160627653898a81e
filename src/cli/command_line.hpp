#pragma once
// What the user typed.

#include <optional>
#include <string>
#include <vector>

#include "core/console/log.hpp"

namespace dpmpi {

struct CommandLine {
  std::string command;                 ///< train, resume, plan, list, help, ...
  std::vector<std::string> arguments;  ///< what follows it and is not an option
  std::optional<std::string> config;   ///< --config FILE
  std::vector<std::string> overrides;  ///< --set section.key=value, repeatable
  std::string data, output;            ///< evaluate, predict: --data FILE; predict, report, audit: --output FILE
  bool times = false;                  ///< report: --times
  bool json = false;
  LogLevel level = LogLevel::info;  ///< --log-level; --quiet is warning
  bool quiet() const { return level < LogLevel::info; }
  bool measure = false;                   ///< plan: measure the machine first, on all ranks
  std::vector<int> ranks = {1, 2, 4, 8};  ///< plan: numbers of ranks to predict for
  /// True if it is answered by all ranks together.
  bool parallel() const {
    return command == "train" || command == "resume" || command == "audit" || on_trained_model() || measure;
  }
  bool on_trained_model() const { return command == "evaluate" || command == "predict"; }
  /// Everything after the command, untouched: for commands with options of their own.
  std::vector<std::string> rest;
};

/// Throws ConfigError for an unknown command (with the nearest one) or option.
CommandLine parse_command_line(int argc, const char* const* argv);

const std::vector<std::string>& command_names();

/// The overview that `dpmpi help` prints.
std::string usage();

/// Commands that need no other rank: help, list, plan, account, calibrate, verify, generate, convert. Empty if
/// `line` is not one of them.
std::optional<int> run_alone(const CommandLine& line);

/// What `dpmpi help` knows: commands, sections of a config, pages, methods and objectives.
std::vector<std::string> help_topics();
/// `dpmpi help TOPIC`: from the options' own declarations. ConfigError if it is not one of help_topics().
std::string help_topic(const std::string& topic);
/// `dpmpi list [methods|objectives|formats]`.
std::string list_text(const std::string& what);

}  // namespace dpmpi
