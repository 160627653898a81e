#include "run/plan/trains_models.hpp"

namespace dpmpi {

void TrainingPromise::archive(Archive& archive) {
  trainings.archive(archive);
  both.archive(archive);
}

const TrainsModels* trains_models(const PublicFacts& facts) {
  return dynamic_cast<const TrainsModels*>(facts.objective);
}

}  // namespace dpmpi
