// Replaces the global allocation functions by counting ones, so that a test can show that a kernel or a step
// allocates nothing. For the programs that it is linked into.
#include "support/allocations.hpp"

#include <cstdlib>
#include <new>

#include "core/aligned.hpp"

namespace dpmpi::test {
namespace {

std::size_t allocations = 0;

void* counted(void* memory) {
  ++allocations;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Out of line, or g++ sees memory of operator new in free() and warns.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

}  // namespace

std::size_t allocation_count() { return allocations; }

}  // namespace dpmpi::test

void* operator new(std::size_t size) { return dpmpi::test::counted(std::malloc(size == 0 ? 1 : size)); }
void* operator new[](std::size_t size) { return operator new(size); }
// Standard algorithms that can do without a buffer ask for it in this way.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++dpmpi::test::allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t& no) noexcept { return operator new(size, no); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return dpmpi::test::counted(std::aligned_alloc(step, dpmpi::round_up(size == 0 ? 1 : size, step)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete(void* p) noexcept { dpmpi::test::release(p); }
void operator delete[](void* p) noexcept { dpmpi::test::release(p); }
void operator delete(void* p, std::size_t) noexcept { dpmpi::test::release(p); }
void operator delete[](void* p, std::size_t) noexcept { dpmpi::test::release(p); }
void operator delete(void* p, std::align_val_t) noexcept { dpmpi::test::release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { dpmpi::test::release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { dpmpi::test::release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { dpmpi::test::release(p); }
