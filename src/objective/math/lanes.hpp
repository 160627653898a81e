#pragma once
// Sixteen float32 lanes on any instruction set: one AVX-512 register, two of AVX2, four of SSE2. Results have the
// same bits on all that fuse multiply and add.

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dpmpi::lanes {

inline constexpr std::size_t width = 16;

#if defined(__AVX512F__)
inline constexpr std::size_t native = 16;
#elif defined(__AVX2__)
inline constexpr std::size_t native = 8;
#else
inline constexpr std::size_t native = 4;
#endif
inline constexpr std::size_t parts = width / native;

using Floats = float __attribute__((vector_size(native * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(native * sizeof(std::int32_t))));

/// Native registers full of floats from aligned memory.
inline Floats load(const float* p) {
  Floats v;
  std::memcpy(&v, __builtin_assume_aligned(p, sizeof v), sizeof v);
  return v;
}
inline void store(float* p, Floats v) { std::memcpy(__builtin_assume_aligned(p, sizeof v), &v, sizeof v); }

inline Ints load(const std::int32_t* p) {
  Ints v;
  std::memcpy(&v, __builtin_assume_aligned(p, sizeof v), sizeof v);
  return v;
}
inline void store(std::int32_t* p, Ints v) { std::memcpy(__builtin_assume_aligned(p, sizeof v), &v, sizeof v); }

// The zero-masking forms are the plain instructions; g++ 12 warns of uninitialised operands in the plain
// intrinsics.

/// `native` bytes as floats.
inline Floats widen(const std::uint8_t* p) {
#if defined(__AVX512F__)
  constexpr __mmask16 all = 0xffff;
  const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_maskz_cvtepi32_ps(all, _mm512_maskz_cvtepu8_epi32(all, bytes));
#elif defined(__AVX2__)
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  Floats v;
  for (std::size_t i = 0; i < native; ++i) v[i] = static_cast<float>(p[i]);
  return v;
#endif
}

/// Nearest integers, ties to even; |v| < 2^31.
inline Ints nearest(Floats v) {
#if defined(__AVX512F__)
  return reinterpret_cast<Ints>(_mm512_maskz_cvtps_epi32(0xffff, v));
#elif defined(__AVX2__)
  return reinterpret_cast<Ints>(_mm256_cvtps_epi32(v));
#else
  Ints n;
  for (std::size_t i = 0; i < native; ++i) n[i] = static_cast<std::int32_t>(__builtin_lrintf(v[i]));
  return n;
#endif
}

inline Floats splat(float x) { return Floats{} + x; }

#if defined(__AVX2__)
/// Lower plus upper four of eight lanes.
inline auto quarter(float __attribute__((vector_size(32))) v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
#endif

/// Sum of the 16 lanes in v[0 .. parts): lane i + lane i + 8, then + 4, + 2, + 1.
inline float sum(const Floats* v) {
#if defined(__AVX512F__)
  using Half = float __attribute__((vector_size(32)));
  const Half eight = __builtin_shufflevector(v[0], v[0], 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(v[0], v[0], 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four = quarter(eight);
#elif defined(__AVX2__)
  const auto four = quarter(v[0] + v[1]);
#else
  const Floats four = (v[0] + v[2]) + (v[1] + v[3]);
#endif
  return (four[0] + four[2]) + (four[1] + four[3]);
}

}  // namespace dpmpi::lanes
