#pragma once
// A value that only the curator can open. Code outside can hold it, move it and drop it; nothing else compiles.

#include <utility>

namespace dpmpi {

class Curator;

template <class T>
class Secret {
 public:
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret&&) noexcept = default;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

 private:
  friend class Curator;
  explicit Secret(T value) : value_(std::move(value)) {}
  T value_;
};

}  // namespace dpmpi
