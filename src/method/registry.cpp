#include <algorithm>

#include "core/errors.hpp"
#include "method/method.hpp"

namespace dpmpi {
namespace {

// Function-local, because registrations run before main in an unknown order.
std::vector<MethodEntry>& entries() {
  static std::vector<MethodEntry> list;
  return list;
}

}  // namespace

const std::vector<MethodEntry>& methods() { return entries(); }

MethodRegistration::MethodRegistration(MethodEntry entry) {
  auto& list = entries();
  const auto at = std::lower_bound(list.begin(), list.end(), entry,
                                   [](const auto& a, const auto& b) { return a.name < b.name; });
  verify(at == list.end() || at->name != entry.name, "two methods of the same name");
  list.insert(at, std::move(entry));
}

}  // namespace dpmpi
