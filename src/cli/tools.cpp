// generate, convert and account: commands with options of their own.

#include "dpmpi/cli/tools.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dpmpi/cli/account.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/convert.hpp"
#include "dpmpi/data/generate.hpp"

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

double number(const std::string& text, const char* name) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw ConfigError(fmt::format("--{} {}: not a number", name, text));
  return value;
}

}  // namespace

int run_generate(const std::vector<std::string>& words) {
  GenerateOptions generate_options;
  Options options("generate");
  generate_options.declare(options);
  read_flags(words, options, {"output"}, "generate");
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
        .add("accountant", request.accountant, "which bound; best is the smallest that applies")
        .add("orders", orders, "also print the composed Renyi curve at these orders")
        .add("adjacency", adjacency, "of a file without header", {"", "add_remove", "replace_one"})
        .add("json", request.json, "print JSON");
  }
};

}  // namespace

std::string account_help() {
  AccountWords words;
  Options options("account");
  words.declare(options);
  std::string text = "dpmpi account FILE.jsonl --delta D [--option value]...\n\n";
  for (const auto& d : options.declarations())
    text += fmt::format("  --{:<14} {}\n", d.name.substr(d.name.find('.') + 1), d.help);
  return text;
}

int run_account(const std::vector<std::string>& words) {
  AccountWords asked;
  Options options("account");
  asked.declare(options);
  std::vector<std::string> flags;
  for (const auto& word : words) flags.push_back(word == "--json" ? "--json=true" : word);
  read_flags(flags, options, {"file"}, "account");
  AccountRequest& request = asked.request;
  if (!asked.delta.empty()) request.delta = number(asked.delta, "delta");
  if (!asked.epsilon.empty()) request.epsilon = number(asked.epsilon, "epsilon");
  for (const auto& order : asked.orders) request.orders.push_back(number(order, "orders"));
  if (!asked.adjacency.empty()) request.adjacency = parse_adjacency(asked.adjacency);
  const int code = account(request, std::cout);
  if (!std::cout.flush()) throw DataError("cannot write to standard output");
  return code;
}

}  // namespace dpmpi
