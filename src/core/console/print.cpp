#include "core/console/print.hpp"

#include "core/console/progress.hpp"

namespace dpmpi {

void print_raw(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void print_line(std::string_view text) {
  clear_bar();
  print_raw(text);
}

}  // namespace dpmpi
