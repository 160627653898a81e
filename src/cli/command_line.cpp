#include "cli/command_line.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/program_options.hpp>

#include "core/errors.hpp"
#include "core/files/home.hpp"

namespace dpmpi {
namespace {

namespace po = boost::program_options;
using Declaration = Options::Declaration;

const std::map<std::string, std::string> letters{{"config", ",c"}, {"set", ",s"},   {"data", ",d"},
                                                 {"output", ",o"}, {"quiet", ",q"}, {"help", ",h"}};

std::string typed_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

const Declaration* find(const Options& options, const std::string& key) {
  for (const Declaration& option : options.declarations())
    if (option.name == key) return &option;
  return nullptr;
}

/// Keys may be typed with dashes or underscores. What Boost has no "--key=value" for becomes two words: an empty
/// value, and that of a flag.
std::vector<std::string> spelt_out(const std::vector<std::string>& typed) {
  std::vector<std::string> words;
  for (const std::string& word : typed) {
    const auto equals = std::min(word.find('='), word.size());
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    std::string key = word.substr(0, equals);
    const bool option = word.starts_with("--");
    if (option) std::replace(key.begin() + 2, key.end(), '-', '_');
    const bool apart = option && equals < word.size() && (value.empty() || value == "true" || value == "false");
    words.push_back(apart ? key : key + word.substr(equals));
    if (apart) words.push_back(value);
  }
  return words;
}

/// The words as options and arguments. An option takes a value, or none, in whatever command has it, so this comes
/// before the command is known.
std::vector<po::option> split(const std::vector<std::string>& words, const Options& shared,
                              const std::vector<Command>& all) {
  std::vector<Declaration> declared = shared.declarations();
  for (const Command& command : all)
    declared.insert(declared.end(), command.options.declarations().begin(), command.options.declarations().end());
  po::options_description known;
  std::map<std::string, std::string> allowed;
  for (const Declaration& option : declared) {
    if (!allowed.try_emplace(typed_name(option.name), option.allowed).second) continue;
    const auto letter = letters.find(option.name);
    known.add_options()((option.name + (letter == letters.end() ? "" : letter->second)).c_str(),
                        new po::untyped_value(option.flag));  // of a flag: takes no word
  }
  try {
    return po::command_line_parser(words)
        .options(known)
        .allow_unregistered()
        .style(po::command_line_style::unix_style ^ po::command_line_style::allow_guessing)
        .run()
        .options;
  } catch (const po::invalid_syntax& e) {  // a word is missing, or one too many
    const std::string name = typed_name(e.get_option_name().substr(2));
    throw ConfigError(fmt::format("{} needs {}", name, allowed[name]));
  }
}

/// The options of every command.
struct SharedOptions {
  std::optional<LogLevel> asked;
  bool quiet = false, help = false;
  Options options = Options("");

  SharedOptions() {
    std::vector<std::pair<std::string, std::optional<LogLevel>>> levels;
    for (const std::string& name : log_level_names()) levels.emplace_back(name, parse_log_level(name));
    options
        .add_words(
            "log_level", asked,
            "info if not given; debug: every rank's phases with times, checkpoints, ledger lines; such a log must not be published",
            levels)
        .add("quiet", quiet, "--log-level warning: no settings, progress, summary, report.html")
        .add("help", help, "help on the command");
  }

  LogLevel level() const {
    if (quiet && asked.value_or(LogLevel::warning) != LogLevel::warning)
      throw ConfigError("--quiet and --log-level ask for different levels (--quiet is --log-level warning)");
    return quiet ? LogLevel::warning : asked.value_or(LogLevel::info);
  }
};

/// What is wrong with an option that a command does not have.
std::string unknown_option(const std::string& key, const Command& command, const std::vector<Command>& all) {
  const std::string typed = key.starts_with('-') ? key : typed_name(key);
  std::vector<std::string> owners, names;
  for (const Command& other : all)
    if (find(other.options, key)) owners.push_back(other.name);
  if (!owners.empty())
    return fmt::format("{} is an option of dpmpi {}, not of {}", typed, fmt::join(owners, ", "), command.name);
  for (const auto& options : {typed_options(command.options), shared_options()})
    for (const Declaration& option : options) names.push_back(option.name);
  const std::string nearest = nearest_name(typed, names);
  return fmt::format("unknown option {} of dpmpi {}; {}", typed, command.name,
                     nearest.empty() ? "see dpmpi help " + command.name : fmt::format("did you mean {}?", nearest));
}

/// By one that a command does not take. `config`: there is none so far, and there could be.
std::string meant_by_argument(const std::string& value, bool config) {
  if (value.find('=') != value.npos) return fmt::format(" (did you mean --set {}?)", value);
  return config && value.ends_with(".ini") ? fmt::format(" (did you mean --config {}?)", value) : "";
}

/// Fills the fields of the command and of `shared`; returns what is wrong.
std::vector<std::string> fill(const Command& command, const Options& shared, const std::vector<po::option>& words,
                              const std::vector<Command>& all) {
  std::vector<std::string> problems, needed = command.needed;
  std::set<std::string> given;
  std::size_t arguments = 0;
  bool unknown = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string key = words[i].string_key, value = words[i].value.empty() ? "true" : words[i].value[0];
    const bool argument = key.empty();
    if (argument && !command.arguments.empty())
      key = command.arguments[std::min(arguments, command.arguments.size() - 1)];
    const Declaration* option = find(command.options, key);
    if (!option) option = find(shared, key);
    if (argument && option && arguments++ >= command.arguments.size() && !option->repeated) option = nullptr;
    // A flag may have its value behind it.
    if (option && option->flag && i + 1 < words.size() && words[i + 1].string_key.empty())
      if (const std::string& next = words[i + 1].value[0]; next == "true" || next == "false") value = next, ++i;
    value = expand_home(value);  // "~" that no shell has seen: behind "=", or in quotation marks
    if (option && option->parse(value)) {
      if (!given.insert(key).second && !option->repeated) problems.push_back(typed_name(key) + " is given twice");
      if (!value.empty()) std::erase(needed, key);
    } else if (option) {
      problems.push_back(fmt::format("{}{} is not allowed; it must be {}", argument ? "" : typed_name(key) + " ",
                                     value.empty() ? "(empty)" : value, option->allowed));
    } else if (!argument) {
      problems.push_back(unknown_option(key, command, all));
      unknown = true;
    } else if (!unknown) {  // else it may be the value of that
      const bool config = find(command.options, "config") && !given.contains("config");
      problems.push_back(fmt::format("unexpected argument '{}'{}", value, meant_by_argument(value, config)));
    }
  }
  if (problems.empty() && !needed.empty())
    problems.push_back(
        fmt::format("dpmpi {} needs {}: {}", command.name, typed_name(needed[0]), command.forms[0].typed));
  return problems;
}

const Command& find_command(const std::string& name, const std::vector<Command>& all) {
  std::vector<std::string> names;
  for (const Command& command : all) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const std::string meant = name.ends_with(".ini") ? "--config " + name : nearest_name(name, names);
  throw ConfigError(fmt::format("unknown command '{}'{}; see dpmpi help", name,
                                meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant)));
}

CommandLine parse(const std::vector<std::string>& words) {
  SharedOptions shared;
  const std::vector<Command> all = commands();
  std::vector<po::option> typed = split(spelt_out(words), shared.options, all);

  // The command is the first word that is no option of every command.
  const auto first = std::find_if(typed.begin(), typed.end(),
                                  [&](const po::option& word) { return !find(shared.options, word.string_key); });
  if (first == typed.end()) throw ConfigError("no command; see dpmpi help");
  std::string name = "train";
  if (first->string_key.empty()) name = first->value[0], typed.erase(first);
  const Command& command = find_command(name, all);
  const std::vector<std::string> problems = fill(command, shared.options, typed, all);
  if (shared.help) return parse({"help", name});
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  return {command, shared.level()};
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return parse({"help"});
  if (words[0] == "--version") return parse({"version"});
  return parse(words);
}

std::vector<Declaration> typed_options(const Options& options) {
  std::vector<Declaration> typed = options.declarations();
  for (Declaration& option : typed) option.name = typed_name(option.name);
  return typed;
}

std::vector<Declaration> shared_options() { return typed_options(SharedOptions().options); }

}  // namespace dpmpi
