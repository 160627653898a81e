#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "data/load/convert.hpp"

namespace dpmpi {
namespace {

/// Section [data] with these values.
DataOptions data_options(const std::vector<std::string>& overrides) {
  Settings settings;
  for (const std::string& assignment : overrides) apply_override(settings, assignment);
  DataOptions data;
  Options options("data");
  data.declare(options);
  std::vector<std::string> problems;
  options.read(settings, problems);
  check_unknown(settings, {&options}, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  return data;
}

}  // namespace

Command convert_command() {
  struct Typed {
    ConvertOptions options;
    std::vector<std::string> overrides;
  };
  const auto typed = std::make_shared<Typed>();
  Options options("");
  typed->options.declare(options);
  return {.name = "convert",
          .forms = {{"dpmpi convert IN OUT [--set data.key=value]...", "a text file to the native binary format"}},
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
