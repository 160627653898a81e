#include "core/errors.hpp"

#include <fmt/format.h>

namespace dpmpi {

void verify(bool condition, const char* what, const char* file, int line) {
  if (!condition) throw BugError(fmt::format("{} ({}:{})", what, file, line));
}

}  // namespace dpmpi
