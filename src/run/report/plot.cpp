#include "run/report/plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "run/report/axis.hpp"
#include "run/report/html.hpp"

namespace dpmpi {
namespace {

// In the units of the drawing, which a page scales to the room that it has.
constexpr double width = 420, height = 250, left = 58, right = 14, top = 12, bottom = 40;
constexpr std::size_t most_points = 1000;  // of a line: more than a screen tells apart

struct Frame {
  Axis x, y;
  double at_x(double value) const { return left + x.place(value) * (width - left - right); }
  double at_y(double value) const { return height - bottom - y.place(value) * (height - top - bottom); }
};

/// The class of a line's colour. Beyond the palette lines are broken in other ways.
std::string colour_class(int colour) {
  constexpr int palette = 8, dashes = 3;
  if (colour < 0) return "ref";
  return fmt::format("k{} d{}", colour % palette, colour / palette % dashes);
}

/// Points that can be drawn, and no more of them than can be seen.
Plot::Line drawable(const Plot& plot, const Plot::Line& line) {
  Plot::Line out{line.name, {}, line.dots, line.colour};
  for (const auto& [x, y] : line.points)
    if (std::isfinite(x) && std::isfinite(y) && (!plot.log_x || x > 0) && (!plot.log_y || y > 0))
      out.points.emplace_back(x, y);
  const std::size_t every = out.points.size() / most_points + 1;
  if (every == 1) return out;
  std::vector<std::pair<double, double>> kept;
  for (std::size_t i = 0; i < out.points.size(); i += every) kept.push_back(out.points[i]);
  kept.push_back(out.points.back());
  out.points = std::move(kept);
  return out;
}

Frame frame_of(const Plot& plot, const std::vector<Plot::Line>& lines) {
  std::vector<double> xs, ys;
  for (const Plot::Line& line : lines)
    for (const auto& [x, y] : line.points) xs.push_back(x), ys.push_back(y);
  return {axis_over(xs, plot.log_x, plot.log_x && lines[0].dots), axis_over(ys, plot.log_y, true)};
}

std::string marks(const Frame& frame) {
  std::string out;
  for (const auto& [place, name] : frame.y.marks) {
    const double y = height - bottom - place * (height - top - bottom);
    out += fmt::format(
        "<line class=\"grid\" x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, width - right, y, y, left - 6, y + 4, name);
  }
  for (const auto& [place, name] : frame.x.marks) {
    const double x = left + place * (width - left - right);
    const bool last = x > width - right - 12;  // its name ends with the plot
    out += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.0f}\" y2=\"{:.0f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n",
        x, x, height - bottom, height - bottom + 4, last ? width - 2 : x, height - bottom + 17,
        last ? "end" : "middle", name);
  }
  return out + fmt::format("<line class=\"axis\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.0f}\" y2=\"{2:.0f}\"/>\n",
                           left, width - right, height - bottom);
}

std::string drawn(const Plot::Line& line, const Frame& frame) {
  const std::string colour = colour_class(line.colour);
  std::string out;
  if (line.dots || line.points.size() < 2) {
    for (const auto& [x, y] : line.points)
      out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", colour, frame.at_x(x),
                         frame.at_y(y));
    return out + "\n";
  }
  for (const auto& [x, y] : line.points)
    out += fmt::format("{}{:.1f},{:.1f}", out.empty() ? "" : " ", frame.at_x(x), frame.at_y(y));
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", colour, out);
}

}  // namespace

std::string colour_key(const std::vector<std::pair<std::string, int>>& names) {
  std::string out = "<div class=\"key\">";
  for (const auto& [name, colour] : names)
    out += fmt::format(
        "<span><svg viewBox=\"0 0 26 10\"><line class=\"{}\" x1=\"1\" x2=\"25\" y1=\"5\" y2=\"5\"/></svg>{}</span>",
        colour_class(colour), html::escape(name));
  return out + "</div>";
}

std::string figure(const Plot& plot) {
  std::vector<Plot::Line> lines;
  std::vector<std::pair<std::string, int>> names;
  for (const Plot::Line& line : plot.lines) {
    lines.push_back(drawable(plot, line));
    if (lines.back().points.empty())
      lines.pop_back();
    else if (!line.name.empty())
      names.emplace_back(line.name, line.colour);
  }
  if (lines.empty()) return "";
  const Frame frame = frame_of(plot, lines);
  const std::string what = html::escape(plot.y), over = html::escape(plot.x);
  std::string out = fmt::format(
      "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} over {}\">\n{}",
      what, width, height, what, over, marks(frame));
  for (const Plot::Line& line : lines) out += drawn(line, frame);
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n</svg>\n", width - right,
                     height - 4, over);
  return out + (names.empty() ? "" : colour_key(names)) + "</figure>\n";
}

void Gallery::add(const Plot& plot) {
  const auto nothing = [](const Plot::Line& line) { return line.points.size() < (line.dots ? 1 : 2); };
  if (!std::all_of(plot.lines.begin(), plot.lines.end(), nothing)) markup_ += figure(plot);
}

std::string Gallery::markup() const {
  return markup_.empty() ? "" : "<div class=\"plots\">\n" + markup_ + "</div>\n";
}

}  // namespace dpmpi
