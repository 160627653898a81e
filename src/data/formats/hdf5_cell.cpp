#include "data/formats/hdf5_cell.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "core/trim.hpp"

namespace dpmpi {

bool Hdf5Cell::is_gap(const char* at) const {
  long double x = 0;
  if (element == Element::u64)
    x = number_at<std::uint64_t>(at);
  else if (element == Element::i64)
    x = number_at<std::int64_t>(at);
  else
    x = ArrayHeader{.element = element}.value(at, 0);
  return std::ranges::find(gaps, x) != gaps.end();
}

double Hdf5Cell::number(const char* at) const {
  if (!gaps.empty() && is_gap(at)) return std::numeric_limits<double>::quiet_NaN();
  return ArrayHeader{.element = element}.value(at, 0);
}

std::string_view Hdf5Cell::text(const char* at, std::string& scratch) const {
  if (is_text) {
    const auto found = number_at<Hdf5Text>(at);
    return trim({found.begin, found.bytes});
  }
  if (!gaps.empty() && is_gap(at)) return {};
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
  std::uint64_t count = gaps.size();
  archive.field("gaps", count);
  gaps.resize(count);
  for (long double& gap : gaps) {  // the two have all digits of it, and no bytes that nobody has set
    auto high = static_cast<double>(gap), low = static_cast<double>(gap - static_cast<long double>(high));
    archive.field("high", high);
    archive.field("low", low);
    gap = static_cast<long double>(high) + static_cast<long double>(low);
  }
}

}  // namespace dpmpi
