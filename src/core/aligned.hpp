#pragma once
// 64-byte-aligned storage: split cache-line loads cost kernels a third of their rate, and Eigen reductions on
// unaligned memory change their bits (numerics contract N2).

#include <cstddef>
#include <new>
#include <vector>

namespace dpmpi {

inline constexpr std::size_t cache_line = 64;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: rebinding
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{cache_line}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{cache_line}); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

/// Smallest multiple of `step` that is >= n.
constexpr std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

}  // namespace dpmpi
