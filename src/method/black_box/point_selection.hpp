#pragma once
// Where a function is evaluated next, so that its gradient at theta becomes known: the fewest points around theta
// after which the trace of the gradient's posterior covariance is within a tolerance. (The acquisition that the
// source writes down lacks the prior's trace, is never above 0 and so never asks for a second point.)
//
// A function of kernel, design points, theta and a public seed alone. Its bits depend on the machine's exponential
// and eigenvectors, so one rank chooses for all.

#include <cstdint>
#include <vector>

#include "core/eigen.hpp"
#include "method/black_box/box_minimum.hpp"
#include "method/black_box/gradient_posterior.hpp"

namespace dpmpi {

/// Points as float32 numbers within the box, because losses are evaluated there and at no other place.
void round_to_float(Eigen::Ref<Eigen::MatrixXd> points, const Box& box);

struct SelectionRule {
  enum class Design {
    stencil,  ///< simplices and central pairs of best radius, along the eigenvectors of the covariance
    refined,  ///< the best partition of these, moved downhill to where the trace is least
    random    ///< uniform in theta + [-radius, radius]^d, for any kernel
  };
  Design design = Design::stencil;
  bool adaptive = true;    ///< the fewest points within the tolerance; else always `most`
  Eigen::Index most = 1;   ///< points of a step
  double tolerance = 0;    ///< of the trace
  double radius = 1;       ///< random points
  int refinement = 0;      ///< refined points: steps at most
  std::uint64_t seed = 1;  ///< random points; says nothing about any other stream
  Box box = {};
};

class PointSelection {
 public:
  explicit PointSelection(SelectionRule rule) : rule_(std::move(rule)) {}

  /// The points of step t (d x b), given a posterior that was moved to theta.
  Eigen::MatrixXd choose(const GradientPosterior& posterior, std::uint64_t t) const;
  /// b of them, whatever the tolerance; not refined.
  Eigen::MatrixXd points(const GradientPosterior& posterior, std::uint64_t t, Eigen::Index b) const;
  /// Whether stencils of b points exist in d dimensions: b <= 2 d, or a multiple of it.
  static bool possible(Eigen::Index d, Eigen::Index b) { return b >= 1 && (b <= 2 * d || b % (2 * d) == 0); }

 private:
  Eigen::MatrixXd fewest(const GradientPosterior& posterior, std::uint64_t t) const;
  /// b points in less than or equal trace to points(..., b).
  Eigen::MatrixXd refined(const GradientPosterior& posterior, std::uint64_t t, Eigen::Index b) const;
  Eigen::MatrixXd single(const GradientPosterior& posterior, const Eigen::VectorXd& direction) const;

  SelectionRule rule_;
};

/// Orthonormal directions in scaled coordinates, the most uncertain (by what they add to the trace) first: the
/// axes without points, else the eigenvectors of diag(l) C diag(l).
Eigen::MatrixXd uncertain_directions(const GradientPosterior& posterior);

}  // namespace dpmpi
