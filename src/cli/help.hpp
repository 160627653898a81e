#pragma once
// What the program says of itself, from the declarations of commands, sections, methods and objectives.

#include <string>
#include <vector>

#include "core/options.hpp"

namespace dpmpi {

/// Options that belong together. Only the declarations' text may be used: the fields are gone.
struct Chapter {
  std::string topic;  ///< of dpmpi help
  std::string title, about;
  std::vector<Options::Declaration> options;
  std::string text() const;
};
std::vector<Chapter> command_chapters();
Chapter shared_chapter();  ///< options of every command
std::vector<Chapter> section_chapters();
std::vector<Chapter> method_chapters();
std::vector<Chapter> objective_chapters();

std::string usage();            ///< all commands on a page
std::string reference_page();   ///< docs/reference/options.md
std::string manual_page();      ///< dpmpi(1), for man
std::string bash_completion();  ///< to be sourced

/// What `dpmpi help` knows.
std::vector<std::string> help_topics();

}  // namespace dpmpi
