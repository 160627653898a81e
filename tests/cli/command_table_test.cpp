// What follows from the table of commands: the parser, and all texts that name commands and their options.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

namespace dpmpi::command_table_test {
namespace {

using test::contains;

CommandLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "dpmpi");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

std::string refusal(const std::vector<const char*>& words) {
  try {
    parse(words);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

/// The value of an option of a command line, as text.
std::string value(const CommandLine& line, const std::string& key) {
  for (const auto& option : line.command.options.declarations())
    if (option.name == key) return option.text();
  return "no such option";
}

TEST(CommandTable, EveryCommandIsInTheHelpTheManualTheReferenceAndTheCompletion) {
  const std::string overview = usage(), manual = manual_page(), reference = reference_page(),
                    completion = bash_completion();
  const auto topics = help_topics();
  ASSERT_GE(commands().size(), 15u);
  for (const Command& command : commands()) {
    for (const Command::Form& form : command.forms) {
      EXPECT_TRUE(contains(overview, form.typed)) << form.typed;
      EXPECT_TRUE(contains(overview, form.does)) << form.does;
    }
    EXPECT_NE(std::find(topics.begin(), topics.end(), command.name), topics.end()) << command.name;
    EXPECT_TRUE(contains(manual, ".SS \"dpmpi " + command.name + "\"")) << command.name;
    EXPECT_TRUE(contains(reference, "### dpmpi " + command.name + "\n")) << command.name;
    const auto place = completion.find("[" + command.name + "]=\"");
    ASSERT_NE(place, completion.npos) << command.name;
    const std::string words =
        completion.substr(place, completion.find('"', place + command.name.size() + 4) - place);
    for (const auto& option : typed_options(command.options)) {
      EXPECT_TRUE(contains(words, option.name + " ")) << command.name << option.name;
      EXPECT_TRUE(contains(reference, "| `" + option.name + "` | ")) << command.name << option.name;
      EXPECT_TRUE(option.name.starts_with("--")) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
    }
  }
}

// As bash splits words: "=" is one of its own.
TEST(CommandTable, CompletionOffersTheValuesOfSettingsAndOptions) {
  const std::string file = ::testing::TempDir() + "dpmpi_completion.bash";
  write_file(file, bash_completion());
  const auto offered = [&](const std::string& words) {
    return test::run_command(
               fmt::format("bash -c \"source {}; COMP_WORDS=(dpmpi {}); COMP_CWORD=\\$((\\${{#COMP_WORDS[@]}}-1)); "
                           "_dpmpi; echo \\${{COMPREPLY[*]}}\"",
                           file, words))
        .output;
  };
  EXPECT_EQ(offered("--set method.name = dp-s"), "dp-sgd dp-sgda\n");
  EXPECT_EQ(offered("train --set privacy.trust ="), "cluster root\n");
  EXPECT_EQ(offered("--set data.densify = t"), "true\n");
  EXPECT_EQ(offered("account e.jsonl --accountant = r"), "rdp\n");
  EXPECT_EQ(offered("account e.jsonl --accountant p"), "pld\n");
  EXPECT_EQ(offered("--log-level d"), "debug\n");
  EXPECT_EQ(offered("verify --js"), "--json\n");
  EXPECT_EQ(offered("--set method.fi"), "method.final_rate= method.first_batch=\n");
}

TEST(CommandTable, EveryCommandRefusesAnUnknownOptionByName) {
  for (const Command& command : commands()) {
    const std::string of = " of dpmpi " + command.name;
    EXPECT_TRUE(contains(refusal({command.name.c_str(), "--no-such", "3"}), "unknown option --no-such" + of)) << of;
    EXPECT_TRUE(contains(refusal({command.name.c_str(), "--no_such=3"}), "unknown option --no-such" + of)) << of;
    EXPECT_TRUE(contains(refusal({command.name.c_str(), "-x"}), "unknown option -x" + of)) << of;
    EXPECT_TRUE(contains(refusal({command.name.c_str(), "--halp"}), "did you mean --help?")) << of;
  }
}

// Words are told apart before the command is known.
TEST(CommandTable, AnOptionTakesAValueInAllCommandsOrInNone) {
  std::map<std::string, bool> flags;
  for (const Command& command : commands())
    for (const auto& option : command.options.declarations())
      EXPECT_EQ(flags.try_emplace(option.name, option.flag).first->second, option.flag)
          << command.name << option.name;
}

TEST(CommandTable, ArgumentsAndNeededOptionsAreOptionsOfTheCommand) {
  for (const Command& command : commands()) {
    std::vector<std::string> names;
    for (const auto& option : command.options.declarations()) names.push_back(option.name);
    for (const auto& keys : {command.arguments, command.needed})
      for (const std::string& key : keys)
        EXPECT_NE(std::find(names.begin(), names.end(), key), names.end()) << command.name << " " << key;
    if (!command.needed.empty()) {
      EXPECT_TRUE(contains(refusal({command.name.c_str()}), "dpmpi " + command.name + " needs --")) << command.name;
    }
  }
}

TEST(CommandLine, WithoutACommandItIsTraining) {
  EXPECT_EQ(parse({"--config", "a.ini"}).command.name, "train");
  EXPECT_EQ(parse({"-q", "-ca.ini"}).command.name, "train");
  EXPECT_EQ(parse({}).command.name, "help");
  EXPECT_EQ(parse({"--version"}).command.name, "version");
  EXPECT_TRUE(contains(refusal({"-q"}), "no command"));
  EXPECT_TRUE(
      contains(refusal({"--config", "a.ini", "b=c"}), "unexpected argument 'b=c' (did you mean --set b=c?)"));
}

TEST(CommandLine, OptionsOfAllCommandsStandAnywhere) {
  EXPECT_EQ(parse({"--log-level", "debug", "list"}).level, LogLevel::debug);
  EXPECT_EQ(parse({"list", "--log-level=error"}).level, LogLevel::error);
  EXPECT_EQ(parse({"-q", "list", "formats"}).level, LogLevel::warning);
  EXPECT_EQ(parse({"list"}).level, LogLevel::info);
}

TEST(CommandLine, HelpOnACommandNeedsNothingElse) {
  for (const Command& command : commands()) {
    const CommandLine line = parse({command.name.c_str(), "--help"});
    EXPECT_EQ(line.command.name, "help");
    EXPECT_EQ(value(line, "topic"), command.name);
  }
  EXPECT_EQ(value(parse({"evaluate", "some/run", "--bogus", "-h"}), "topic"), "evaluate");
}

TEST(CommandLine, ValuesAreTypedInManyWays) {
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"generate", "a.csv", "--eval-records", "7"},
        {"generate", "--eval_records=7", "--output", "a.csv"},
        {"generate", "-o", "a.csv", "--eval-records=7"},
        {"generate", "--skewed", "false", "a.csv", "--eval-records=7"},
        {"generate", "-oa.csv", "--skewed=false", "--eval-output=", "--eval-records=7"}}) {
    const CommandLine line = parse(words);
    EXPECT_EQ(value(line, "output"), "a.csv");
    EXPECT_EQ(value(line, "eval_records"), "7");
    EXPECT_EQ(value(line, "skewed"), "false");
  }
  EXPECT_EQ(value(parse({"generate", "--skewed", "true", "a.csv"}), "skewed"), "true");
  EXPECT_EQ(value(parse({"generate", "--skewed", "a.csv"}), "skewed"), "true");
  for (const char* flag : {"--json", "--json=true", "-q"})
    EXPECT_EQ(value(parse({"verify", flag, "run"}), "run"), "run") << "a flag takes no word";
  EXPECT_EQ(value(parse({"verify", "--json=false", "run"}), "json"), "false");
  EXPECT_EQ(value(parse({"account", "-", "--delta", "1e-5"}), "file"), "-");
  EXPECT_EQ(value(parse({"account", "a", "--epsilon", "1", "--delta", ""}), "delta"), "");
  EXPECT_EQ(value(parse({"calibrate", "--delta=1e-5"}), "delta"), "1e-05");
}

TEST(CommandLine, AllProblemsAreReportedAtOnce) {
  const std::string said =
      refusal({"account", "--bogus", "4", "--delta", "x", "--adjacency", "both", "--config", "c"});
  for (const char* part :
       {"unknown option --bogus of dpmpi account", "--delta x is not allowed; it must be a finite number",
        "--adjacency both is not allowed; it must be one of: add_remove, replace_one",
        "--config is an option of dpmpi train, tune, site, round, check, suggest, plan, audit, not of account"})
    EXPECT_TRUE(contains(said, part)) << part << "\n" << said;
  EXPECT_EQ(refusal({"plan", "--config", "a", "--config", "b"}), "--config is given twice");
  EXPECT_EQ(refusal({"evaluate", "run", "--data", "a", "--data", "b"}), "--data is given twice");
  EXPECT_EQ(refusal({"generate", "a.csv", "--records", "5", "--records", "6"}), "--records is given twice");
  EXPECT_EQ(refusal({"audit", "run", "--run", "other"}), "--run is given twice");
  EXPECT_EQ(refusal({"--config", "a", "--set", ""}), "--set (empty) is not allowed; it must be text");
  EXPECT_EQ(refusal({"verify", "run", "--json=yes"}), "--json needs true or false");
  EXPECT_EQ(refusal({"plan", "--config", "a", "--ranks"}),
            "--ranks needs whole numbers in [1, 1048576], separated by commas");
}

}  // namespace
}  // namespace dpmpi::command_table_test
