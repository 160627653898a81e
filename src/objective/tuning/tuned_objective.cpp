#include "objective/tuning/tuned_objective.hpp"

namespace dpmpi {

void declare_start(Options& options, std::string& start) {
  options.add("start", start, "start of the search in the box: its centre, or a random point of it",
              {"centre", "random"});
}

void TunedObjective::initialise(const PublicStream& stream, std::span<float> w) const {
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] = start_ == "random" ? static_cast<float>(box_edge * (2 * stream.uniform(j) - 1)) : 0.0F;
}

}  // namespace dpmpi
