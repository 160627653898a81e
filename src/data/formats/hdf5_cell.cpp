#include "data/formats/hdf5_cell.hpp"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/trim.hpp"

namespace dpmpi {

std::string_view Hdf5Cell::text(const char* at, std::string& scratch) const {
  if (is_text) {
    const auto found = number_at<Hdf5Text>(at);
    return trim({found.begin, found.bytes});
  }
  scratch.clear();
  const auto write = [&](auto x) { fmt::format_to(std::back_inserter(scratch), "{}", x); };
  if (element == Element::u64)
    write(number_at<std::uint64_t>(at));
  else if (element == Element::i64)
    write(number_at<std::int64_t>(at));
  else if (const double x = number(at); std::isnan(x))
    return {};
  else if (element == Element::f32)
    write(static_cast<float>(x));
  else
    write(x);
  return scratch;
}

void Hdf5Cell::archive(Archive& archive) {
  archive.field("text", is_text);
  archive.field("element", element);
}

}  // namespace dpmpi
