#include "cli/help.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.hpp"
#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "run/config/removed.hpp"

namespace dpmpi {
namespace {

template <class Declarer>
std::vector<Options::Declaration> declared(const std::string& section, Declarer&& declare) {
  Options options(section);
  declare(options);
  return options.declarations();
}

template <class Section>
Chapter section_of(const std::string& name, const std::string& about) {
  Section section;
  return {name, fmt::format("[{}]", name), about, declared(name, [&](Options& o) { section.declare(o); })};
}

const std::map<std::string, std::string (*)()> pages{
    {"reference", reference_page}, {"man", manual_page}, {"completion", bash_completion}};

/// By topic. A command and a section may have one together.
std::map<std::string, std::string> texts() {
  std::map<std::string, std::string> all;
  for (const auto& chapters : {command_chapters(), section_chapters(), method_chapters(), objective_chapters()})
    for (const Chapter& chapter : chapters)
      all[chapter.topic] += (all[chapter.topic].empty() ? "" : "\n") + chapter.text();
  return all;
}

/// Throws ConfigError if it is not one of help_topics().
std::string help_on(const std::string& topic) {
  if (topic.empty()) return usage();
  if (const auto page = pages.find(topic); page != pages.end()) return page->second();
  const auto all = texts();
  if (const auto text = all.find(topic); text != all.end()) return text->second;
  if (const std::string instead = instead_of("method.name", topic); !instead.empty())
    throw ConfigError(fmt::format("method.name = {} was removed: {}", topic, instead));
  const auto known = help_topics();
  const auto nearest = nearest_name(topic, known);
  throw ConfigError(fmt::format("no help on '{}'{}; topics: {}", topic,
                                nearest.empty() ? "" : " (did you mean " + nearest + "?)", fmt::join(known, ", ")));
}

}  // namespace

std::string Chapter::text() const {
  std::string text = fmt::format("{}\n\n{}\n\n", title, about);
  for (const auto& d : options)
    text += fmt::format("  {:<28} {}\n  {:<28} {}; {}\n", d.name, d.help, "", d.allowed, d.default_text());
  return text;
}

std::vector<Chapter> command_chapters() {
  std::vector<Chapter> all;
  for (const Command& command : commands()) {
    std::string about;
    for (const Command::Form& form : command.forms) about += fmt::format("    {}\n", form.typed);
    about += "\n" + (command.about.empty() ? command.forms[0].does + "." : command.about);
    all.push_back({command.name, "dpmpi " + command.name, about, typed_options(command.options)});
  }
  return all;
}

Chapter shared_chapter() {
  return {{}, "Options of every command", "Before or behind its name.", shared_options()};
}

namespace {

/// Those of a preparation stand in two sections.
void add_preparation(Chapter& of_data, Chapter& of_privacy) {
  PrepareOptions prepare;
  Options data("data"), privacy("privacy");
  prepare.declare(data, privacy);
  for (const auto& [chapter, options] : {std::pair{&of_data, &data}, {&of_privacy, &privacy}})
    for (const auto& declaration : options->declarations()) chapter->options.push_back(declaration);
}

}  // namespace

std::vector<Chapter> section_chapters() {
  std::vector<Chapter> all{section_of<RunOptions>("run", "Where a run writes, and when it stops."),
                           section_of<DataOptions>("data", "Where the records are and how they are read."),
                           section_of<PrivacyOptions>("privacy", "The promise."),
                           section_of<ReportOptions>("report", "What is shown on the way."),
                           section_of<AuditOptions>("audit", "The games of dpmpi audit."),
                           section_of<TuningOptions>("tune", "Settings that are chosen in private.")};
  add_preparation(all[1], all[2]);
  std::string objective = "logistic", method = "dp-sgd";
  double l2 = 0;
  StartOptions start;
  all.push_back({"objective", "[objective]", "Of every objective. Those of the chosen one: dpmpi help NAME.",
                 declared("objective", [&](Options& o) {
                   declare_objective(o, objective, l2);
                   start.declare(o);
                 })});
  all.push_back({"method", "[method]", "Of every method. Those of the chosen one: dpmpi help NAME.",
                 declared("method", [&](Options& o) { declare_method(o, method); })});
  return all;
}

std::vector<Chapter> method_chapters() {
  std::vector<Chapter> all;
  for (const auto& entry : methods()) {
    const auto method = entry.make();
    all.push_back({entry.name, "method.name = " + entry.name,
                   fmt::format("{}. Source: {}.", entry.summary, entry.source),
                   declared("method", [&](Options& o) { method->declare(o); })});
  }
  return all;
}

std::vector<Chapter> objective_chapters() {
  std::vector<Chapter> all;
  for (const auto& entry : objectives()) {
    const auto builder = entry.builder();
    all.push_back({entry.name, "objective.name = " + entry.name, entry.summary + ".",
                   declared("objective", [&](Options& o) { builder->declare(o); })});
  }
  return all;
}

std::string usage() {
  std::string text = "dpmpi: differentially private training of models on data spread over MPI ranks\n\n";
  for (const Command& command : commands())
    for (const Command::Form& form : command.forms) text += fmt::format("  {:<38}  {}\n", form.typed, form.does);
  return text + "\n" + shared_chapter().text() +
         "\nFor short: -c --config, -s --set, -d --data, -o --output, -q --quiet, -h --help\n"
         "Exit codes: 0 done, 2 config, 3 data, 4 privacy refusal, 5 MPI, 6 stopped and resumable, 70 internal error\n";
}

std::vector<std::string> help_topics() {
  std::vector<std::string> topics;
  for (const auto& [topic, text] : texts()) topics.push_back(topic);
  for (const auto& [topic, text] : pages) topics.push_back(topic);
  return topics;
}

Command help_command() {
  const auto topic = std::make_shared<std::string>();
  return {
      .name = "help",
      .forms = {{"dpmpi help [METHOD|OBJECTIVE|SECTION|COMMAND]", "options with their meaning, range and default"},
                {"dpmpi help reference|man|completion",
                 "all of them on one page; a manual page; completion for bash"}},
      .about =
          "To read the manual page: dpmpi help man | man -l -\nTo complete words in bash: source <(dpmpi help completion)",
      .options = Options("").add("topic", *topic, "what to tell about; without it, all commands"),
      .arguments = {"topic"},
      .run = [topic](const Communicator&) {
        fmt::print("{}", help_on(*topic));
        return printed();
      }};
}

Command version_command() {
  return {.name = "version",
          .forms = {{"dpmpi version", "the version; also dpmpi --version"}},
          .run = [](const Communicator&) {
            fmt::print("dpmpi {}\n", DPMPI_VERSION);
            return printed();
          }};
}

}  // namespace dpmpi
