#include "cli/reference.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.hpp"
#include "core/console/log.hpp"
#include "data/load/convert.hpp"
#include "data/synthetic/generate.hpp"
#include "run/config/config.hpp"

namespace dpmpi {
namespace {

using Declarations = std::vector<Options::Declaration>;

/// Some options that belong together.
struct Chapter {
  std::string title, about;
  Declarations options;
};

// Declarations refer to fields that are gone by then: only their text may be used.
template <class Declarer>
Declarations declared(const std::string& section, Declarer&& declare) {
  Options options(section);
  declare(options);
  return options.declarations();
}
template <class Section>
Chapter section_of(const std::string& name, const std::string& about) {
  Section section;
  return {fmt::format("[{}]", name), about, declared(name, [&](Options& o) { section.declare(o); })};
}

std::vector<Chapter> sections() {
  std::vector<Chapter> all{section_of<RunOptions>("run", "Where a run writes, and when it stops."),
                           section_of<DataOptions>("data", "Where the records are and how they are read."),
                           section_of<PrivacyOptions>("privacy", "The promise."),
                           section_of<ReportOptions>("report", "What is shown on the way."),
                           section_of<AuditOptions>("audit", "The games of dpmpi audit.")};
  std::string name;
  double l2 = 0;
  all.push_back({"[objective]", "Of every objective.",
                 declared("objective", [&](Options& o) { declare_objective(o, name, l2); })});
  all.push_back({"[method]", "Of every method.", declared("method", [&](Options& o) { declare_method(o, name); })});
  return all;
}

std::vector<Chapter> method_chapters() {
  std::vector<Chapter> all;
  for (const auto& entry : methods()) {
    const auto method = entry.make();
    all.push_back({"method.name = " + entry.name, fmt::format("{}. Source: {}.", entry.summary, entry.source),
                   declared("method", [&](Options& o) { method->declare(o); })});
  }
  return all;
}

std::vector<Chapter> objective_chapters() {
  std::vector<Chapter> all;
  for (const auto& entry : objectives()) {
    const auto builder = entry.builder();
    all.push_back({"objective.name = " + entry.name, entry.summary + ".",
                   declared("objective", [&](Options& o) { builder->declare(o); })});
  }
  return all;
}

std::vector<Chapter> tool_chapters() {
  return {section_of<GenerateOptions>("generate", "dpmpi generate --option value."),
          section_of<ConvertOptions>("convert", "dpmpi convert IN OUT --option value.")};
}

// Markdown

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string markdown(const std::vector<Chapter>& chapters) {
  std::string text;
  for (const Chapter& chapter : chapters) {
    text += fmt::format("\n### {}\n\n{}\n", chapter.title, chapter.about);
    if (chapter.options.empty()) continue;
    text += "\n| option | meaning | allowed | default |\n|---|---|---|---|\n";
    for (const auto& d : chapter.options)
      text += fmt::format("| `{}` | {} | {} | {} |\n", d.name, cell(d.help), cell(d.allowed),
                          d.has_default && !d.initial.empty() ? "`" + cell(d.initial) + "`" : "not set");
  }
  return text;
}

// roff

std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += fmt::format("\\&{}", c);
    else
      out += c;
  }
  return out;
}

std::string roff(const std::vector<Chapter>& chapters) {
  std::string text;
  for (const Chapter& chapter : chapters) {
    text += fmt::format(".SS \"{}\"\n{}\n", roff(chapter.title), roff(chapter.about));
    for (const auto& d : chapter.options)
      text += fmt::format(".TP\n.B {}\n{}; {}; {}\n", roff(d.name), roff(d.help), roff(d.allowed),
                          roff(d.default_text()));
  }
  return text;
}

void add_names(const std::vector<Chapter>& chapters, std::vector<std::string>& names) {
  for (const Chapter& chapter : chapters)
    for (const auto& d : chapter.options)
      if (std::find(names.begin(), names.end(), d.name) == names.end()) names.push_back(d.name);
}

}  // namespace

std::string reference_page() {
  return "# Reference\n\nEvery option with its meaning, range and default: what `dpmpi help` says, on one page. This file is the output "
         "of `dpmpi help\nreference`; the options' declarations in the source are its only source.\n\n## Sections of a config\n" +
         markdown(sections()) + "\n## Methods\n" + markdown(method_chapters()) + "\n## Objectives\n" +
         markdown(objective_chapters()) + "\n## Commands with options of their own\n" + markdown(tool_chapters()) +
         "\n`account`, `calibrate` and `verify`: [account_and_calibrate.md](account_and_calibrate.md) and `dpmpi help COMMAND`.\n";
}

std::string manual_page() {
  std::string text =
      ".TH DPMPI 1\n.SH NAME\ndpmpi \\- differentially private training of models on data spread over MPI ranks\n"
      ".SH SYNOPSIS\n.nf\n" +
      roff(usage()) + ".fi\n.SH COMMANDS\n";
  for (const auto& command : command_names())
    text += fmt::format(".SS {}\n.nf\n{}.fi\n", command, roff(help_topic(command)));
  return text + ".SH CONFIGURATION\n" + roff(sections()) + ".SH METHODS\n" + roff(method_chapters()) +
         ".SH OBJECTIVES\n" + roff(objective_chapters()) +
         ".SH ENVIRONMENT\n.TP\n.B DPMPI_DATA\nfolder in which relative paths of data are looked up\n.TP\n.B NO_COLOR\nnot "
         "empty: no colours on terminals\n";
}

std::string bash_completion() {
  std::vector<std::string> settings;
  add_names(sections(), settings);
  add_names(method_chapters(), settings);
  add_names(objective_chapters(), settings);
  return fmt::format(R"(# bash completion for dpmpi:  source <(dpmpi help completion)
_dpmpi() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  COMPREPLY=()
  case $before in
    --set|-s)
      compopt -o nospace
      COMPREPLY=($(compgen -S= -W "{0}" -- "$word")); return ;;
    --config|-c|--data|-d|--output|-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
    --log-level) COMPREPLY=($(compgen -W "{3}" -- "$word")); return ;;
    help) COMPREPLY=($(compgen -W "{1}" -- "$word")); return ;;
    list) COMPREPLY=($(compgen -W "methods objectives formats" -- "$word")); return ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "--config --set --quiet --log-level --json --help --version --data --output --times --ranks --measure" -- "$word"))
  elif [[ $before == dpmpi || $before == */dpmpi ]]; then
    COMPREPLY=($(compgen -W "{2}" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _dpmpi dpmpi
)",
                     fmt::join(settings, " "), fmt::join(help_topics(), " "), fmt::join(command_names(), " "),
                     fmt::join(log_level_names(), " "));
}

}  // namespace dpmpi
