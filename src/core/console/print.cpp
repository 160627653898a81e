#include "core/console/print.hpp"

#include "core/console/progress.hpp"

namespace dpmpi {

void say_raw(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void say_line(std::string_view text) {
  clear_bar();
  say_raw(text);
}

}  // namespace dpmpi
