#pragma once
// Capabilities that layers above give to objectives and their builders, and that objective.hpp cannot name.

namespace dpmpi {

/// `object` as what it can do beside what its base class says; null: it cannot.
template <class Capability, class Base>
Capability* capability_of(Base* object) {
  return dynamic_cast<Capability*>(object);
}

}  // namespace dpmpi
