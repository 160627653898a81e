#pragma once
// Online-to-nonconvex conversion with projected online subgradient descent (Cutkosky, Mehta and Orabona 2023;
// Zhang, Tran and Cutkosky 2024, Algorithm 3): gradients at random points of the segments of a path whose steps an
// online learner chooses.
//
//   for k = 1..K:  Delta = 0, wbar = 0
//     for t = 1..T:
//       s ~ Unif[0, 1);  w = x + s Delta;  x = x + Delta
//       g ~ gradient at w;  Delta = Pi_D(Delta - eta g);  wbar += w / T
//     W_k = wbar
//
// All of it is public and in double: a function of released values, the same bits on every rank (+ - * / and sqrt).

#include <cstdint>
#include <span>
#include <vector>

#include "core/files/archive.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {

class OnlineToNonconvex {
 public:
  enum class Output {
    uniform,       ///< W_k of a public uniform draw of k
    stationarity,  ///< W_k with the smallest |mean over t of g|
    last           ///< W_K
  };
  struct Settings {
    std::uint64_t inner = 1;  ///< T
    std::uint64_t outer = 1;  ///< K
    double step_radius = 1;   ///< D
    double rate = 0;          ///< eta; 0: D / sqrt(sum over the epoch so far of |g_t|^2)
    std::uint64_t seed = 1;   ///< of s and of the output's index
    Output output = Output::uniform;
  };

  OnlineToNonconvex(const Settings& settings, std::span<const float> start);

  /// Moves on to the next w. Throws BugError if it is further than 2 D from the last one of the epoch.
  void advance();
  /// Gives the gradient at w. Empty: nothing is known there, the learner stays with its step.
  void learn(std::span<const double> gradient);

  std::uint64_t t() const { return t_; }  ///< steps of the epoch that are done
  std::uint64_t k() const { return k_; }  ///< epochs that are done
  bool done() const { return k_ == settings_.outer; }
  /// w_t and w_{t-1}. Valid and unchanged until the next advance().
  std::span<const double> point() const { return w_; }
  std::span<const double> previous() const { return previous_; }
  double distance() const { return distance_; }       ///< |w_t - w_{t-1}|
  std::span<const double> end() const { return x_; }  ///< x_{t+1}
  std::span<const double> step() const { return delta_; }

  /// The newest W_k (before the first epoch is over, x_1); at the end the chosen one.
  std::span<const float> published() const { return published_; }
  /// |mean over t of g| of the last epoch.
  double stationarity() const { return stationarity_; }
  void archive(Archive& archive);

 private:
  void begin_epoch();
  void end_epoch();

  Settings settings_;
  PublicCounter segment_{0, 0};
  std::uint64_t t_ = 0, k_ = 0, chosen_ = 0, gradients_ = 0;
  double squares_ = 0, distance_ = 0, stationarity_ = 0, least_ = 0;
  std::vector<double> x_, delta_, w_, previous_, mean_w_, mean_g_, best_;
  std::vector<float> published_;
};

}  // namespace dpmpi
