#include "method/minimax/released_prior.hpp"

#include <algorithm>

namespace dpmpi {

QuerySpec prior_query(const SaddleSettings& settings, std::uint64_t rounds, double noise_multiplier) {
  return {.name = "prior",
          .dim = 1,
          .sampling = FullBatch{},
          .bound = {1},
          // A record moves the count by 1 under either adjacency.
          .noise_multiplier = noise_multiplier > 0 ? settings.prior_noise : 0,
          .steps = 1,
          .schedule = {.period = rounds},
          .kind = ExactSum{.one_hot = true},
          .effort = 0};
}

void ReleasedPrior::release(Curator& curator, SaddleObjective& objective, std::uint64_t round) {
  if (!query_ || round > 0) return;
  const Batch everyone = curator.draw(*query_, 0);
  const auto count = curator.release_exact(curator.sum(*query_, everyone, positives()));
  share_ = std::clamp(count[0] / static_cast<double>(query_->records), least_, 1 - least_);
  offered(objective.class_prior()).set_prior(share_);
}

void ReleasedPrior::archive(Archive& archive, SaddleObjective& objective) {
  archive.field("prior", share_);
  if (archive.reading() && share_ > 0) offered(objective.class_prior()).set_prior(share_);
}

}  // namespace dpmpi
