#include <fmt/format.h>

#include "cli/commands.hpp"
#include "run/config/config.hpp"

namespace dpmpi {
namespace {

enum class Listed { all, methods, objectives, formats };

void print_list(Listed what) {
  const auto asked = [&](Listed part) { return what == Listed::all || what == part; };
  if (asked(Listed::methods)) fmt::print("methods (method.name)\n");
  for (const auto& entry : methods())
    if (asked(Listed::methods)) fmt::print("  {:<22} {} [{}]\n", entry.name, entry.summary, entry.source);
  if (asked(Listed::objectives)) fmt::print("objectives (objective.name)\n");
  for (const auto& entry : objectives())
    if (asked(Listed::objectives)) fmt::print("  {:<18} {}\n", entry.name, entry.summary);
  if (asked(Listed::formats))
    fmt::print(
        "formats (data.format)\n"
        "  libsvm             text, `label index:value ...`, kept sparse (gzip allowed)\n"
        "  csv, tsv           text tables with or without a header line (gzip allowed)\n"
        "  idx                MNIST family, `images,labels`; 8-bit rows stay 8-bit (gzip allowed)\n"
        "  npy                NumPy arrays, `features.npy,labels.npy`\n"
        "  native             fixed records with a checksummed header, made by dpmpi convert\n");
}

}  // namespace

Command list_command() {
  const auto listed = std::make_shared<Listed>(Listed::all);
  const std::vector<std::pair<std::string, Listed>> words{{"", Listed::all},
                                                          {"methods", Listed::methods},
                                                          {"objectives", Listed::objectives},
                                                          {"formats", Listed::formats}};
  return {.name = "list",
          .forms = {{"dpmpi list [methods|objectives|formats]", "what a config can name, with a line on each"}},
          .options = Options("").add_words("what", *listed, "one of them only", words),
          .arguments = {"what"},
          .run = [listed](const Communicator&) {
            print_list(*listed);
            return printed();
          }};
}

}  // namespace dpmpi
