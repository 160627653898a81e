#include "data/formats/faults.hpp"

#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

void Faults::add(std::uint64_t at, std::uint64_t kind, const std::string& message) {
  if (!knows(kind)) first_.emplace(std::pair{part_, kind}, Fault{at, message});
}

void Faults::merge(Faults others) {
  for (auto& [key, fault] : others.first_) {
    const auto [mine, fresh] = first_.try_emplace(key, fault);
    if (!fresh && fault.at < mine->second.at) mine->second = std::move(fault);
  }
}

std::string Faults::text() const {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, const std::string*> by_place;
  for (const auto& [key, fault] : first_) by_place[{key.first, fault.at, key.second}] = &fault.message;
  std::string text;
  std::size_t told = 0;
  for (const auto& entry : by_place) {
    if (told == most) return text + "\n  and more";
    text += (told++ == 0 ? "" : "\n  ") + *entry.second;
  }
  return text;
}

void Faults::refuse() const {
  if (!empty()) throw DataError(text());
}

void Faults::archive(Archive& archive) {
  std::uint64_t count = first_.size();
  archive.field("faults", count);
  auto next = first_.begin();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::pair<std::uint64_t, std::uint64_t> key;
    Fault fault;
    if (!archive.reading()) key = next->first, fault = (next++)->second;
    archive.field("part", key.first);
    archive.field("kind", key.second);
    archive.field("at", fault.at);
    archive.field("message", fault.message);
    if (archive.reading()) first_.emplace(key, fault);
  }
}

}  // namespace dpmpi
