#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/data_options.hpp"
#include "data/load/convert.hpp"

namespace dpmpi {

Command convert_command() {
  struct Typed {
    ConvertOptions options;
    std::vector<std::string> overrides;
  };
  const auto typed = std::make_shared<Typed>();
  Options options("");
  typed->options.declare(options);
  return {.name = "convert",
          .forms = {{"dpmpi convert IN OUT [--set data.key=value]...",
                     "a file to the native binary format, or to HDF5"}},
          .about = "How IN is read: dpmpi help data",
          .options = options.add_each("set", typed->overrides, set_help),
          .arguments = {"input", "output"},
          .run = [typed](const Communicator&) {
            const auto records = convert(typed->options, data_options(typed->overrides));
            fmt::print("wrote {} records to {}\n", records, typed->options.output);
            return printed();
          }};
}

}  // namespace dpmpi
