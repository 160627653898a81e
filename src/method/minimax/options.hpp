#pragma once
// What the min-max methods have in common: which records a query samples, how many rounds there are, how both sides
// move, and which iterate is the result. All of it public.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/files/archive.hpp"
#include "core/options.hpp"
#include "method/method.hpp"
#include "method/sgd/optimizer.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {

/// The objective as the min-max problem that it must be. Throws ConfigError if it is none.
const SaddleObjective& saddle(const Objective* objective, const char* method);

class SaddleOptions {
 public:
  std::int64_t batch = 256, steps = 0, seed = 1;
  double epochs = 10;
  double clip = 1;       ///< C_1: of a record's primal gradient
  double dual_clip = 0;  ///< of the private part of its dual gradient; 0: the objective's own bound
  double dual_rate = 0;  ///< eta_y; 0: 0.3 / mu
  std::string sampling = "poisson", dual_schedule = "constant", output = "last";
  std::string prior = "public";
  double prior_noise = 200, prior_least = 0.01;
  Optimizer descent;  ///< of x: rate, schedule, momentum, ...

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  SamplingRule rule(const DatasetFacts& data) const;
  /// R. Counted in primal batches: an epoch is n / batch rounds.
  std::uint64_t rounds(const DatasetFacts& data) const;
  /// The bound on the private part of the dual gradient. Throws ConfigError if nothing gives one.
  double dual_bound(const SaddleObjective& f) const;
  /// Throws ConfigError if nothing gives eta_y: asked for by plans, so that no release is paid for first.
  void require_dual_rate(const SaddleObjective& f) const;
  /// eta_y of dual step i of round r. Throws ConfigError if nothing gives one.
  double dual_rate_at(const SaddleObjective& f, std::uint64_t r, std::uint64_t i) const;
  bool private_prior() const { return prior == "private"; }

  /// The one release of the number of positive records, of all records, if the prior is private. Its noise does not
  /// depend on the plan's multiplier, but that 0 is no noise. Throws ConfigError if the objective has no prior.
  QuerySpec prior_query(const PublicFacts& facts, double noise_multiplier) const;
};

/// The share of positive records, if it is not public: released once, at the start, and a constant from then on.
/// An empirical share would make every record's gradient depend on every other record.
class ReleasedPrior {
 public:
  /// `query`: the plan's first.
  void start(const SaddleOptions& options, const Query& query);
  /// At round 0, and only if the prior is private. Collective.
  void release(Curator& curator, SaddleObjective& objective, std::uint64_t round);
  void archive(Archive& archive, SaddleObjective& objective);

 private:
  std::optional<Query> query_;
  double least_ = 0, share_ = 0;
};

}  // namespace dpmpi
