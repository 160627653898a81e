#pragma once
// Line plots as SVG, for all runs of a page in their colours.

#include <string>
#include <utility>
#include <vector>

namespace dpmpi {

struct Plot {
  /// The colour of what is no run: a bound, a guess, a constant.
  static constexpr int reference = -1;

  struct Line {
    std::string name;  ///< for the key; empty: none
    std::vector<std::pair<double, double>> points;
    bool dots = false;  ///< points by themselves, not joined
    int colour = 0;     ///< the number of the run: the same in all plots of a page
  };
  std::string x, y;  ///< what the axes show
  std::vector<Line> lines;
  bool log_x = false, log_y = false;
};

/// A figure with its key; empty if there is nothing to draw. The same bytes for the same plot. Local.
std::string figure(const Plot& plot);
/// Which run has which colour.
std::string colour_key(const std::vector<std::pair<std::string, int>>& names);

/// Plots of a page, side by side.
class Gallery {
 public:
  /// Nothing for a plot without a line: of a single point a table says more.
  void add(const Plot& plot);
  std::string markup() const;

 private:
  std::string markup_;
};

}  // namespace dpmpi
