#pragma once
// Everything that can be set, from the options' own declarations: as a page, as a manual page, and for a shell that
// completes words.

#include <string>

namespace dpmpi {

std::string reference_page();   ///< docs/reference/options.md
std::string manual_page();      ///< dpmpi(1), for man
std::string bash_completion();  ///< to be sourced

}  // namespace dpmpi
