#pragma once
// What registers itself by name before main.

#include <algorithm>
#include <utility>
#include <vector>

#include "core/errors.hpp"

namespace dpmpi {

/// All entries of a type, sorted by name. Function-local, because registrations run in an unknown order.
template <class Entry>
std::vector<Entry>& registered() {
  static std::vector<Entry> list;
  return list;
}

template <class Entry>
void enter(Entry entry) {
  auto& list = registered<Entry>();
  const auto at = std::ranges::lower_bound(list, entry.name, {}, &Entry::name);
  verify(at == list.end() || at->name != entry.name, "two methods or objectives of the same name");
  list.insert(at, std::move(entry));
}

}  // namespace dpmpi
