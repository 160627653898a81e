#include "objective/tuning/tuned_objective.hpp"

#include "core/console/log.hpp"
#include "core/errors.hpp"

namespace dpmpi {

void declare_start(Options& options, std::string& start) {
  options.add("start", start, "start of the search in the box: its centre, or a random point of it",
              {"centre", "random"});
}

void TunedObjective::initialise(const PublicStream& stream, std::span<float> w) const {
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] = start_ == "random" ? static_cast<float>(box_edge * (2 * stream.uniform(j) - 1)) : 0.0F;
}

void warn_of_failed_models(const Communicator& comm, std::size_t failed, std::size_t count) {
  if (failed > 0 && comm.is_root())
    warn("{} of {} models could not be trained (singular, or diverged): their losses are no numbers", failed,
         count);
}

}  // namespace dpmpi
