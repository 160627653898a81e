#include "cli/data_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"

namespace dpmpi {

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

}  // namespace dpmpi
