#pragma once
// Line plots as SVG, drawn by gnuplot.

#include <string>
#include <utility>
#include <vector>

namespace dpmpi {

struct Plot {
  struct Line {
    std::string name;  ///< for the key; empty: none
    std::vector<std::pair<double, double>> points;
    bool dots = false;  ///< points by themselves, not joined
  };
  std::string x, y;  ///< what the axes show
  std::vector<Line> lines;
  bool log_x = false, log_y = false;
};

/// An <svg> element without prolog, its ids beginning with `id`; empty if gnuplot is not installed, has no folder
/// for temporary files, or there is nothing to draw. The same bytes for the same plot and gnuplot. Local; takes
/// about 0.1 s.
std::string svg(const Plot& plot, const std::string& id);

/// Plots of a page, side by side.
class Gallery {
 public:
  /// `id`: begins the ids of its plots, which must be unique in a page.
  explicit Gallery(std::string id);

  /// Nothing for a plot without a line: of a single point a table says more.
  void add(const Plot& plot);
  /// A sentence where gnuplot could draw none of them.
  std::string markup() const;

 private:
  std::string id_;
  int wanted_ = 0;
  std::string markup_;
};

}  // namespace dpmpi
