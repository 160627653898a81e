#include <algorithm>
#include <cstdio>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/data_options.hpp"
#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/inspect/propose.hpp"

namespace dpmpi {
namespace {

int print_proposal(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return printed();
}

/// A setting that says nothing to inspect would be left out in silence.
void check_settings(const std::vector<std::string>& overrides, bool from_names) {
  using Keys = std::vector<std::string>;
  const Keys known = from_names
                         ? Keys{"data.root", "data.separator"}
                         : Keys{"data.root",      "data.format",  "data.header",     "data.label",  "data.person",
                                "data.separator", "data.decimal", "data.skip_lines", "data.comment"};
  Keys problems;
  for (const std::string& assignment : overrides) {
    const std::string key(trim(std::string_view(assignment).substr(0, assignment.find('='))));
    if (std::ranges::find(known, key) == known.end())
      problems.push_back(
          fmt::format("--set {}: it changes nothing here; {} do", assignment, fmt::join(known, ", ")));
  }
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

}  // namespace

Command inspect_command() {
  struct Typed {
    std::string file;
    bool from_names = false;
    std::vector<std::string> overrides;
  };
  const auto typed = std::make_shared<Typed>();
  Options options("");
  options
      .add("file", typed->file,
           "Public table (csv, tsv, hdf5), a pattern that names parts of one, or data dictionary")
      .add("from_names", typed->from_names,
           "the file is a data dictionary: a line NAME,KIND or NAME,KIND,VALUES for each column")
      .add_each("set", typed->overrides, set_help);
  return {.name = "inspect",
          .forms = {{"dpmpi inspect PUBLIC_FILE [--set data.key=value]...",
                     "propose a columns file (data.columns) for a public table"},
                    {"dpmpi inspect DICTIONARY --from-names", "the same from names and kinds, without data"}},
          .about = "What it prints are statistics of the file without any protection: the file must be public",
          .options = options,
          .arguments = {"file"},
          .needed = {"file"},
          .run = [typed](const Communicator&) {
            const DataOptions data = data_options(typed->overrides);
            check_settings(typed->overrides, typed->from_names);
            return print_proposal(typed->from_names ? columns_of_dictionary(typed->file, data)
                                                    : propose_columns(typed->file, data));
          }};
}

}  // namespace dpmpi
