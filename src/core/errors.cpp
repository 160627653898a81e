#include "dpmpi/core/errors.hpp"

#include <fmt/format.h>

namespace dpmpi {

void verify(bool condition, const char* what, const std::source_location& where) {
  if (!condition) throw BugError(fmt::format("{} ({}:{})", what, where.file_name(), where.line()));
}

}  // namespace dpmpi
