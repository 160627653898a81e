#pragma once
// Plots of a page, side by side.

#include <string>

#include "run/report/plot.hpp"

namespace dpmpi {

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
