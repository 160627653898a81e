#include "cli/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/program_options.hpp>

#include "core/errors.hpp"
#include "core/options.hpp"

namespace dpmpi {
namespace {

namespace po = boost::program_options;

const std::vector<std::string> commands{"train",   "resume", "plan",  "account",  "calibrate", "verify", "evaluate",
                                        "predict", "report", "audit", "generate", "convert",   "list",   "help"};

// These take options of their own, declared where they are implemented.
bool parses_itself(const std::string& command) {
  return command == "account" || command == "calibrate" || command == "verify" || command == "generate" ||
         command == "convert";
}

// "1,2,4": how many ranks to predict for.
std::vector<int> rank_counts(const std::string& text) {
  std::vector<int> counts;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    int count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error != std::errc{} || end != word.data() + word.size() || count < 1 || count > 1 << 20)
      throw ConfigError(
          fmt::format("--ranks {}: allowed: whole numbers from 1 to 2^20, separated by commas", text));
    counts.push_back(count);
  }
  if (counts.empty()) throw ConfigError("--ranks needs a number");
  return counts;
}

void check_options(const CommandLine& line, bool has_ranks) {
  struct Use {
    bool given;
    const char* option;
    std::vector<std::string> commands;
    const char* others = "";
  };
  for (const Use& use : {Use{line.config.has_value(), "--config", {"train", "plan", "audit"}},
                         Use{!line.overrides.empty(),
                             "--set",
                             {"train", "resume", "plan", "audit", "evaluate", "predict"},
                             " and convert"},
                         Use{line.measure, "--measure", {"plan"}}, Use{has_ranks, "--ranks", {"plan"}},
                         Use{line.json, "--json", {"plan", "evaluate", "audit"}, ", account, calibrate and verify"},
                         Use{!line.data.empty(), "--data", {"evaluate", "predict"}},
                         Use{!line.output.empty(), "--output", {"predict", "report", "audit"}, " and generate"},
                         Use{line.times, "--times", {"report"}}})
    if (use.given && std::find(use.commands.begin(), use.commands.end(), line.command) == use.commands.end())
      throw ConfigError(
          fmt::format("{} is an option of dpmpi {}{}", use.option, fmt::join(use.commands, ", "), use.others));
}

/// Takes --quiet, -q and --log-level out of `words`, wherever they stand.
LogLevel take_level(std::vector<std::string>& words) {
  std::optional<LogLevel> level;
  const auto take = [&](LogLevel asked) {
    if (level && *level != asked)
      throw ConfigError("--quiet and --log-level ask for different levels (--quiet is --log-level warning)");
    level = asked;
  };
  std::vector<std::string> others;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-q" || word == "--quiet") {
      take(LogLevel::warning);
    } else if (word.starts_with("--log-level=")) {
      take(parse_log_level(word.substr(word.find('=') + 1)));
    } else if (word == "--log-level") {
      if (++i == words.size())
        throw ConfigError(fmt::format("--log-level needs one of {}", fmt::join(log_level_names(), ", ")));
      take(parse_log_level(words[i]));
    } else {
      others.push_back(word);
    }
  }
  words = std::move(others);
  return level.value_or(LogLevel::info);
}

// How many words that are no options a command takes, at least and at most.
std::pair<std::size_t, std::size_t> arguments_of(const std::string& command) {
  if (command == "report") return {1, std::string::npos};
  if (command == "resume" || command == "evaluate" || command == "predict") return {1, 1};
  if (command == "list" || command == "help" || command == "audit") return {0, 1};
  return {0, 0};
}

void check_arguments(const CommandLine& line) {
  if ((line.command == "train" || line.command == "plan") && !line.config)
    throw ConfigError(fmt::format("dpmpi {} needs --config FILE", line.command));
  if (line.command == "audit" && line.config.has_value() == !line.arguments.empty())
    throw ConfigError("dpmpi audit needs --config FILE, or the directory of a run");
  const auto [least, most] = arguments_of(line.command);
  if (line.arguments.size() > most) {
    const std::string& word = line.arguments[most];
    const bool assignment = word.find('=') != word.npos;
    throw ConfigError(fmt::format("unexpected argument '{}'{}", word,
                                  assignment ? fmt::format(" (did you mean --set {}?)", word) : ""));
  }
  if (line.arguments.size() < least)
    throw ConfigError(fmt::format("dpmpi {} needs one run directory{}", line.command, most > 1 ? " or more" : ""));
  if ((line.on_trained_model() || line.command == "resume") && line.config)
    throw ConfigError(fmt::format("dpmpi {} takes a run's own config: leave --config out", line.command));
  if (line.command == "predict" && (line.data.empty() || line.output.empty()))
    throw ConfigError("dpmpi predict needs --data FILE and --output FILE (.csv or .npy)");
  if (line.command == "predict" && !line.output.ends_with(".csv") && !line.output.ends_with(".npy"))
    throw ConfigError(fmt::format("--output {}: its name must end with .csv or .npy", line.output));
}

// The words behind a command that does not parse itself. Simple options go to the line at once.
po::variables_map read_options(const std::vector<std::string>& words, CommandLine& line) {
  po::options_description options;
  options.add_options()("config,c", po::value<std::string>())(
      "set,s", po::value<std::vector<std::string>>()->composing())("json", po::bool_switch(&line.json))(
      "measure", po::bool_switch(&line.measure))("ranks", po::value<std::string>())(
      "data,d", po::value<std::string>(&line.data))("output,o", po::value<std::string>(&line.output))(
      "times", po::bool_switch(&line.times))("help,h", "")("argument", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("argument", -1);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words)
                  .options(options)
                  .positional(positional)
                  .style(po::command_line_style::unix_style ^ po::command_line_style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& e) {
    throw ConfigError(fmt::format("{}; see dpmpi help", e.what()));
  }
  return values;
}

// `dpmpi help COMMAND`; the overview for no command.
CommandLine help_on(const std::string& command) {
  CommandLine line;
  line.command = "help";
  if (!command.empty()) line.arguments = {command};
  return line;
}

}  // namespace

const std::vector<std::string>& command_names() { return commands; }

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return help_on("");
  if (words[0] == "--version") {
    line.command = "version";
    return line;
  }
  line.level = take_level(words);
  if (words.empty()) throw ConfigError("no command; see dpmpi help");
  if (words[0].starts_with("-")) {
    line.command = "train";
  } else {
    line.command = words[0];
    words.erase(words.begin());
    if (std::find(commands.begin(), commands.end(), line.command) == commands.end()) {
      const auto nearest = nearest_name(line.command, commands);
      throw ConfigError(fmt::format("unknown command '{}'{}; see dpmpi help", line.command,
                                    nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest)));
    }
  }
  line.rest = words;
  if (parses_itself(line.command)) {
    for (const auto& word : words)
      if (word == "--help" || word == "-h") return help_on(line.command);
    return line;
  }

  const po::variables_map values = read_options(words, line);
  if (values.count("help")) return help_on(line.command);
  if (values.count("config")) line.config = values["config"].as<std::string>();
  if (values.count("set")) line.overrides = values["set"].as<std::vector<std::string>>();
  const bool has_ranks = values.count("ranks") > 0;
  if (has_ranks) line.ranks = rank_counts(values["ranks"].as<std::string>());
  if (values.count("argument")) line.arguments = values["argument"].as<std::vector<std::string>>();
  check_arguments(line);
  check_options(line, has_ranks);
  return line;
}

std::string usage() {
  return R"(dpmpi: differentially private training of models on data spread over MPI ranks

  mpirun -n N dpmpi --config FILE [--set section.key=value]...   train; same as dpmpi train ...
  mpirun -n N dpmpi resume RUN            go on with a stopped or killed run, on any number of ranks
  dpmpi plan --config FILE [--ranks 1,2]  the privacy promise, the settings and the cost, before any record is read
  mpirun -n N dpmpi plan --config FILE --measure     the same with this machine's rates
  dpmpi account FILE.jsonl --delta D      epsilon of a ledger or of any list of events
  dpmpi calibrate FILE.jsonl --epsilon E --delta D   the noise, rate or number of steps that a promise allows
  mpirun -n N dpmpi evaluate RUN [--data FILE]       how good the model is on labelled records (default: data.eval)
  mpirun -n N dpmpi predict RUN --data FILE --output OUT.csv|.npy    what the model says of new records
  mpirun -n N dpmpi audit --config FILE | RUN        plays against the mechanism: lower bounds on its epsilon
  dpmpi report RUN [RUN...]               a page (report.html) about a run, or on several beside each other
  dpmpi verify RUN                        plans a run again from its config and compares its files
  dpmpi generate --output FILE            a synthetic dataset (dpmpi help generate)
  dpmpi convert IN OUT                    a text file to the native binary format
  dpmpi list [methods|objectives|formats]
  dpmpi help [METHOD|OBJECTIVE|SECTION|COMMAND]   options with their meaning, range and default
  dpmpi help reference|man|completion     all of them on one page; a manual page; completion for bash

Options: --config FILE (-c), --set section.key=value (-s, repeatable), --log-level error|warning|info|debug,
--quiet (-q: --log-level warning), --json (plan, account, calibrate, verify, evaluate, audit), --help, --version
Exit codes: 0 done, 2 config, 3 data, 4 privacy refusal, 5 MPI, 6 stopped and resumable, 70 internal error
)";
}

}  // namespace dpmpi
