#include "objective/sees_copies.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

void refuse_copies(const Objective& objective, std::string_view who) {
  const auto* const copies = dynamic_cast<const SeesCopies*>(&objective);
  if (copies == nullptr || !copies->sees_copies()) return;
  throw ConfigError(fmt::format(
      "objective.augment makes random copies of records for gradients, which {} never ask for: leave it out, or take a method of gradients (dp-sgd, dp-ftrl)",
      who));
}

}  // namespace dpmpi
