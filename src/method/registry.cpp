#include "core/registry.hpp"

#include "method/method.hpp"

namespace dpmpi {

const std::vector<MethodEntry>& methods() { return registered<MethodEntry>(); }
MethodRegistration::MethodRegistration(MethodEntry entry) { enter(std::move(entry)); }

}  // namespace dpmpi
