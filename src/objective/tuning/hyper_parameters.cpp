#include "objective/tuning/hyper_parameters.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/records/options.hpp"

namespace dpmpi {

TunedRange TunedRange::parse(const std::string& key, const std::vector<std::string>& text) {
  const auto refuse = [&] {
    throw ConfigError(fmt::format(
        "{} = {} must be a positive number, which is fixed, or two of them in ascending order, between which it is searched for",
        key, fmt::join(text, ",")));
  };
  if (text.empty() || text.size() > 2) refuse();
  const TunedRange range{option_number(text.front(), key), option_number(text.back(), key)};
  if (range.low <= 0 || (text.size() == 2 && range.low >= range.high)) refuse();
  return range;
}

double share_of(double coordinate) {
  return (std::clamp(coordinate, -box_edge, box_edge) + box_edge) / (2 * box_edge);
}

double TunedRange::at(double coordinate) const {
  if (!searched()) return low;
  return low * std::exp(share_of(coordinate) * std::log(high / low));
}

void HyperParameters::add(std::string name, const TunedRange& range, std::size_t count) {
  all_.push_back({std::move(name), range, count});
  count_ += count;
  if (range.searched()) dim_ += count;
}

std::vector<ParameterGroup> HyperParameters::groups() const {
  std::vector<ParameterGroup> groups;
  std::size_t offset = 0;
  for (const Some& some : all_) {
    if (!some.range.searched()) continue;
    groups.push_back({some.name, offset, 1, some.count});
    offset += some.count;
  }
  return groups;
}

void HyperParameters::at(std::span<const double> point, std::span<double> values) const {
  verify(point.size() == dim_ && values.size() == count_, "a point has a coordinate for each that is searched for");
  std::size_t coordinate = 0, value = 0;
  for (const Some& some : all_)
    for (std::size_t i = 0; i < some.count; ++i)
      values[value++] = some.range.searched() ? some.range.at(point[coordinate++]) : some.range.low;
}

}  // namespace dpmpi
