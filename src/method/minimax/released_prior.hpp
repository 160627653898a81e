#pragma once
// The share of positive records, if it is not public: released once, at the start, and a constant from then on. An
// empirical share would make every record's gradient depend on every other record.

#include <cstdint>
#include <optional>

#include "core/files/archive.hpp"
#include "method/minimax/settings.hpp"

namespace dpmpi {

/// The release of the number of positive records, of all records. Its noise does not depend on the plan's
/// multiplier, but that 0 is no noise.
QuerySpec prior_query(const SaddleSettings& settings, std::uint64_t rounds, double noise_multiplier);

class ReleasedPrior {
 public:
  /// `query`: that of prior_query(); nothing if the prior is public.
  ReleasedPrior(const SaddleSettings& settings, const std::optional<Query>& query)
      : query_(query), least_(settings.prior_least) {}
  /// At round 0, and only if the prior is private. Collective.
  void release(Curator& curator, SaddleObjective& objective, std::uint64_t round);
  void archive(Archive& archive, SaddleObjective& objective);

 private:
  std::optional<Query> query_;
  double least_, share_ = 0;
};

}  // namespace dpmpi
