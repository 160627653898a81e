#include "run/plan/trains_models.hpp"

#include "objective/capability_of.hpp"

namespace dpmpi {

void TrainingPromise::archive(Archive& archive) {
  trainings.archive(archive);
  both.archive(archive);
}

TrainsModels* trains_models(Objective* objective) { return capability_of<TrainsModels>(objective); }
const TrainsModels* trains_models(const Objective* objective) {
  return capability_of<const TrainsModels>(objective);
}
const TrainsModels* trains_models(const PublicFacts& facts) { return trains_models(facts.objective); }

}  // namespace dpmpi
