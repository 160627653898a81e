#pragma once
// Objectives whose gradients may be means over random copies of a record, which their losses never are.

#include <string_view>

#include "objective/objective.hpp"

namespace dpmpi {

class SeesCopies {
 public:
  virtual bool sees_copies() const = 0;

 protected:
  ~SeesCopies() = default;
};

/// Throws ConfigError if the objective sees copies, of which `who` ("methods of losses alone") would never know.
void refuse_copies(const Objective& objective, std::string_view who);

}  // namespace dpmpi
