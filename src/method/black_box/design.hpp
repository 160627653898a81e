#pragma once
// The public half of gibo's steps: the points whose losses are known, and the linear map that takes a record's
// losses there to what is clipped and summed. All of it follows from released iterates and settings. The root
// computes, for bits of exponentials and eigenvectors are a machine's own, and every rank gets what the root found.
//
// With N points and d parameters the map is W (d x N), or, while N < d, the R of W = Q R (N x N): |R y| = |W y|, so
// a record's clip is the same, and fewer numbers are multiplied, clipped and added. What is released then, and has
// noise in all of d coordinates, is Q^T times what would be, for a square orthogonal Q: noise of one deviation in
// every direction has the same law before and after, and Q is public.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/eigen.hpp"
#include "core/files/archive.hpp"
#include "method/black_box/gibo_settings.hpp"
#include "privacy/curator/curator.hpp"

namespace dpmpi {

class GiboDesign {
 public:
  /// Without points.
  explicit GiboDesign(const GiboSetup& setup);

  /// The points of step t around theta become the newest. Collective.
  void extend(Curator& curator, const Eigen::VectorXd& theta, std::uint64_t t);
  /// The root finds the map for the points that there are now, and the others need not wait. Local, after extend.
  void weigh(Curator& curator);
  /// Every rank has it from here on. Collective, after weigh.
  std::span<const double> share_map(Curator& curator);

  std::span<const double> points() const { return points_; }   ///< all N, d numbers each
  std::size_t count() const { return points_.size() / dim_; }  ///< N
  std::span<const double> map() const {
    return map_;
  }  ///< transposed, N rows of min(N, d) numbers; after share_map
  std::uint64_t forgotten() const { return forgotten_; }         ///< points of earlier steps that are gone
  double trace() const { return posterior_.trace(); }            ///< of the posterior covariance. Root, after weigh
  bool reduced() const { return map_.size() < points_.size(); }  ///< the map is R

  /// The released sum of mapped losses as a sum of gradients, in place. Collective if reduced().
  void turn_back(Curator& curator, std::vector<double>& released) const;

  /// Forgets the oldest points beyond method.memory; how many.
  std::size_t forget();
  void archive(Archive& archive);

 private:
  void find_points(const Eigen::VectorXd& theta, std::uint64_t t, std::vector<double>& found);
  void find_map(std::vector<double>& found);

  std::size_t dim_;
  std::uint64_t window_;
  double tolerance_;  // adaptive batches; 0: none
  PointSelection selection_;
  GradientPosterior posterior_;  // root
  Eigen::MatrixXd reflections_;  // root: Householder vectors of Q, if reduced
  Eigen::VectorXd coefficients_;
  std::vector<double> points_, fresh_, map_;
  std::vector<std::uint64_t> batches_;  // how points came: the bits of the Cholesky factor follow from it
  std::uint64_t forgotten_ = 0;
  bool warned_ = false;
};

}  // namespace dpmpi
