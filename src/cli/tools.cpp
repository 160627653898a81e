// generate, convert, account, calibrate and verify: commands with options of their own.

#include "cli/tools.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/account.hpp"
#include "cli/calibrate.hpp"
#include "cli/verify.hpp"
#include "core/errors.hpp"
#include "data/load/convert.hpp"
#include "data/synthetic/generate.hpp"
#include "privacy/accountants/accountant.hpp"

namespace dpmpi {
namespace {

// `--key value` or `--key=value` for the declared options; other words are positional, in order. Throws ConfigError
// that lists every problem.
void read_flags(const std::vector<std::string>& words, Options& options, const std::vector<std::string>& positional,
                const std::string& section, Settings* overrides = nullptr) {
  Settings settings;
  std::vector<std::string> problems;
  std::size_t next = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      if (next == positional.size())
        problems.push_back(fmt::format("unexpected argument {}", word));
      else
        settings[section + "." + positional[next++]] = {word, "command line"};
      continue;
    }
    const auto equals = word.find('=');
    std::string key = word.substr(2, equals == word.npos ? word.npos : equals - 2), value;
    if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      problems.push_back(fmt::format("--{} needs a value", key));
      continue;
    }
    std::replace(key.begin(), key.end(), '-', '_');
    if (key == "set" && overrides)
      apply_override(*overrides, value);
    else
      settings[section + "." + key] = {value, "command line"};
  }
  options.read(settings, problems);
  check_unknown(settings, {&options}, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

}  // namespace

int run_generate(const std::vector<std::string>& words) {
  GenerateOptions generate_options;
  Options options("generate");
  generate_options.declare(options);
  read_flags(words, options, {"output"}, "generate");
  for (const std::string& file : {generate_options.output, generate_options.eval_output}) {
    std::error_code failed;  // the writer says so, with the file's name
    if (const auto folder = std::filesystem::path(file).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder, failed);
  }
  generate(generate_options);
  fmt::print("wrote {} records to {}\n", generate_options.records, generate_options.output);
  return 0;
}

int run_convert(const std::vector<std::string>& words) {
  ConvertOptions convert_options;
  Options options("convert");
  convert_options.declare(options);
  Settings data_settings;
  read_flags(words, options, {"input", "output"}, "convert", &data_settings);
  DataOptions data;
  Options data_options("data");
  data.declare(data_options);
  std::vector<std::string> problems;
  data_options.read(data_settings, problems);
  check_unknown(data_settings, {&data_options}, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  const auto records = convert(convert_options, data);
  fmt::print("wrote {} records to {}\n", records, convert_options.output);
  return 0;
}

namespace {

// The options of `account`, as text: empty means not asked for.
struct AccountWords {
  AccountRequest request;
  std::string delta, epsilon, adjacency;
  std::vector<std::string> orders;
  void declare(Options& options) {
    options.add("file", request.path, "JSON lines, a ledger or any list of events; - is standard input")
        .add("delta", delta, "asks for epsilon at this delta")
        .add("epsilon", epsilon, "asks for delta at this epsilon")
        .add("accountant", request.accountant, "which bound; best is the smallest that applies", accountant_names())
        .add("orders", orders, "also print the composed Renyi curve at these orders")
        .add("adjacency", adjacency, "of a file without header", {"", "add_remove", "replace_one"})
        .add("plan", request.plan, "plan.json of a run that was stopped; with --stopped")
        .add("stopped", request.stopped,
             "why it was: outside, by what nothing released had a part in; results, because somebody looked at "
             "iterates, metrics or data: then all of the plan counts",
             {"", "outside", "results"})
        .add("json", request.json, "print JSON");
  }
};

struct CalibrateWords {
  CalibrateRequest request;
  std::string delta, epsilon, adjacency;
  void declare(Options& options) {
    options.add("file", request.path, "JSON lines in which every unknown value is \"?\"; - is standard input")
        .add("epsilon", epsilon, "the target, never overshot")
        .add("delta", delta, "the target, never overshot")
        .add("accountant", request.accountant, "whose bound; best is the smallest that applies", accountant_names())
        .add("adjacency", adjacency, "of a file without header", {"", "add_remove", "replace_one"})
        .add("json", request.json, "print JSON");
  }
};

struct VerifyWords {
  std::string run;
  bool json = false;
  void declare(Options& options) { options.add("run", run, "the run directory").add("json", json, "print JSON"); }
};

// --json needs no value.
std::vector<std::string> with_flag_values(const std::vector<std::string>& words) {
  std::vector<std::string> flags;
  for (const auto& word : words) flags.push_back(word == "--json" ? "--json=true" : word);
  return flags;
}

template <class Words>
void read_words(Words& asked, const std::vector<std::string>& words, const std::string& positional,
                const std::string& section) {
  Options options(section);
  asked.declare(options);
  read_flags(with_flag_values(words), options, {positional}, section);
}

template <class Words>
std::string words_help(const std::string& section, const std::string& usage) {
  Words words;
  Options options(section);
  words.declare(options);
  std::string text = usage + "\n\n";
  for (const auto& d : options.declarations())
    text += fmt::format("  --{:<14} {}{}\n", d.name.substr(d.name.find('.') + 1), d.help,
                        d.allowed.starts_with("one of") ? fmt::format(" ({})", d.allowed) : "");
  return text;
}

}  // namespace

std::string account_help() {
  return words_help<AccountWords>("account",
                                  "dpmpi account FILE.jsonl (--delta D | --epsilon E) [--option value]...");
}
std::string calibrate_help() {
  return words_help<CalibrateWords>("calibrate",
                                    "dpmpi calibrate EVENTS.jsonl --epsilon E --delta D [--option value]...") +
         "\nUnknown may be one of noise_multiplier, scale, count, sampling_rate, mu and rho: every \"?\" gets the same value.\n";
}
std::string verify_help() {
  return words_help<VerifyWords>("verify", "dpmpi verify RUN [--json]") +
         "\nPlans the run again from its config.ini and the public facts in plan.json, and compares ledger, plan,\n"
         "certificate, metrics and model with that. Says if a key is left in a finished run. What cannot be\n"
         "checked without the data or the key is named.\n";
}

int run_account(const std::vector<std::string>& words) {
  AccountWords asked;
  read_words(asked, words, "file", "account");
  AccountRequest& request = asked.request;
  if (!asked.delta.empty()) request.delta = option_number(asked.delta, "--delta");
  if (!asked.epsilon.empty()) request.epsilon = option_number(asked.epsilon, "--epsilon");
  for (const auto& order : asked.orders) request.orders.push_back(option_number(order, "--orders"));
  if (!asked.adjacency.empty()) request.adjacency = parse_adjacency(asked.adjacency);
  return account(request, std::cout);
}

int run_calibrate(const std::vector<std::string>& words) {
  CalibrateWords asked;
  read_words(asked, words, "file", "calibrate");
  CalibrateRequest& request = asked.request;
  if (!asked.delta.empty()) request.delta = option_number(asked.delta, "--delta");
  if (!asked.epsilon.empty()) request.epsilon = option_number(asked.epsilon, "--epsilon");
  if (!asked.adjacency.empty()) request.adjacency = parse_adjacency(asked.adjacency);
  return calibrate(request, std::cout);
}

int run_verify(const std::vector<std::string>& words) {
  VerifyWords asked;
  read_words(asked, words, "run", "verify");
  if (asked.run.empty()) throw ConfigError("dpmpi verify needs a run directory");
  return print_verification(verify_run(asked.run), asked.json, std::cout);
}

}  // namespace dpmpi
