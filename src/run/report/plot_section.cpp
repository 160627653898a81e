#include "run/report/plot_section.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "run/report/html.hpp"

namespace dpmpi {

Gallery::Gallery(std::string id) : id_(std::move(id)) {}

void Gallery::add(const Plot& plot) {
  const auto nothing = [](const Plot::Line& line) { return line.points.size() < (line.dots ? 1 : 2); };
  if (std::all_of(plot.lines.begin(), plot.lines.end(), nothing)) return;
  markup_ += svg(plot, fmt::format("{}{}_", id_, ++wanted_));
}

std::string Gallery::markup() const {
  if (markup_.empty())
    return wanted_ > 0
               ? html::paragraph("(No plots: gnuplot is not installed, or has no folder for temporary files.)")
               : "";
  return "<div class=\"plots\">" + markup_ + "</div>\n";
}

}  // namespace dpmpi
