#include <cstdio>

#include "cli/commands.hpp"
#include "cli/data_options.hpp"
#include "data/inspect/propose.hpp"

namespace dpmpi {
namespace {

int print_proposal(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return printed();
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
  options.add("file", typed->file, "Public table (csv, tsv), or data dictionary")
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
            return print_proposal(typed->from_names ? columns_of_dictionary(typed->file, data)
                                                    : propose_columns(typed->file, data));
          }};
}

}  // namespace dpmpi
