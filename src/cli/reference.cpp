// The long pages: all options as a reference, as a manual page, and for a shell that completes words.

#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "method/method.hpp"
#include "objective/objective.hpp"

namespace dpmpi {
namespace {

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

std::string roff(const std::string& heading, const std::vector<Chapter>& chapters) {
  std::string text = ".SH " + heading + "\n";
  for (const Chapter& chapter : chapters)
    text += fmt::format(".SS \"{}\"\n.nf\n{}.fi\n", roff(chapter.title), roff(chapter.text()));
  return text;
}

std::string names_of(const Chapter& chapter) {
  std::string names;
  for (const auto& option : chapter.options) names += option.name + " ";
  return names;
}

/// The words of an option that takes no others; none of one that takes numbers or text. A flag of a command takes
/// no word.
std::vector<std::string> words_of(const Options::Declaration& option) {
  constexpr std::string_view beginning = "one of: ";
  if (option.flag && !option.name.starts_with("--")) return {"true", "false"};
  if (!option.allowed.starts_with(beginning)) return {};
  std::vector<std::string> words;
  std::istringstream in(option.allowed.substr(beginning.size()));
  for (std::string word; in >> word;) words.push_back(word.substr(0, word.find(',')));
  return words;
}

/// All options by their names; one that several methods have takes the words of any of them.
void add_words(const Chapter& chapter, std::map<std::string, std::set<std::string>>& known) {
  for (const auto& option : chapter.options)
    for (auto& words = known[option.name]; const std::string& word : words_of(option)) words.insert(word);
}

/// As an associative array of bash.
std::string listed(const std::map<std::string, std::set<std::string>>& values) {
  std::string text;
  for (const auto& [name, words] : values)
    if (!words.empty()) text += fmt::format("[{}]=\"{}\" ", name, fmt::join(words, " "));
  return text;
}

}  // namespace

std::string reference_page() {
  return "# Reference\n\nEvery option with its meaning, range and default: what `dpmpi help` says, on one page. This file is the output "
         "of `dpmpi help\nreference`; the options' declarations in the source are its only source.\n\n## Sections of a config\n" +
         markdown(section_chapters()) + "\n## Methods\n" + markdown(method_chapters()) + "\n## Objectives\n" +
         markdown(objective_chapters()) + "\n## Commands\n" + markdown(command_chapters()) +
         markdown({shared_chapter()});
}

std::string manual_page() {
  return ".TH DPMPI 1\n.SH NAME\ndpmpi \\- differentially private training of models on data spread over MPI ranks\n"
         ".SH SYNOPSIS\n.nf\n" +
         roff(usage()) + ".fi\n" + roff("COMMANDS", command_chapters()) +
         roff("CONFIGURATION", section_chapters()) + roff("METHODS", method_chapters()) +
         roff("OBJECTIVES", objective_chapters()) +
         ".SH ENVIRONMENT\n.TP\n.B DPMPI_DATA\nfolder in which relative paths of data are looked up\n.TP\n.B NO_COLOR\nnot "
         "empty: no colours on terminals\n";
}

// `--set key=value` is three words for bash, which splits at "=".
std::string bash_completion() {
  std::string names, options;
  std::map<std::string, std::set<std::string>> settings, values;
  for (const Chapter& chapter : command_chapters()) {
    names += chapter.topic + " ";
    options += fmt::format("[{}]=\"{}{}\" ", chapter.topic, names_of(chapter), names_of(shared_chapter()));
    add_words(chapter, values);
  }
  add_words(shared_chapter(), values);
  for (const auto& chapters : {section_chapters(), method_chapters(), objective_chapters()})
    for (const Chapter& chapter : chapters) add_words(chapter, settings);
  for (const auto& entry : methods()) settings["method.name"].insert(entry.name);
  for (const auto& entry : objectives()) settings["objective.name"].insert(entry.name);
  std::string keys;
  for (const auto& [key, words] : settings) keys += key + " ";
  values.merge(settings);
  return fmt::format(R"(# bash completion for dpmpi:  source <(dpmpi help completion)
_dpmpi() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=train typed
  local -A options=({3})
  local -A values=({4})
  COMPREPLY=()
  for typed in "${{COMP_WORDS[@]:0:COMP_CWORD}}"; do
    [[ -n $typed && -n ${{options[$typed]}} ]] && command=$typed && break
  done
  if [[ $word == = ]]; then
    word= before=${{COMP_WORDS[COMP_CWORD-1]}}
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if [[ -n $before && -n ${{values[$before]}} && ( $word != -* ) ]]; then
    COMPREPLY=($(compgen -W "${{values[$before]}}" -- "$word")); return
  fi
  case $before in
    --set|-s|--search)
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -S= -W "{0}" -- "$word")); return ;;
    --config|-c|--data|-d|--output|-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
    help) COMPREPLY=($(compgen -W "{1}" -- "$word")); return ;;
    list) COMPREPLY=($(compgen -W "methods objectives formats" -- "$word")); return ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "${{options[$command]}}" -- "$word"))
  elif [[ $before == dpmpi || $before == */dpmpi ]]; then
    COMPREPLY=($(compgen -W "{2}" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _dpmpi dpmpi
)",
                     keys, fmt::join(help_topics(), " "), names, options, listed(values));
}

}  // namespace dpmpi
