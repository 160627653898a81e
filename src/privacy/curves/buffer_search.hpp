#pragma once
// Which buffers leave least noise in prefix sums.

#include <cstddef>
#include <cstdint>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// The participations of one record: so many, at least so far apart.
struct Participations {
  std::uint64_t count = 1, separation = 1;
};

/// Up to `most` buffers (1..Buffers::most) for prefix sums of n >= 1 leaves with nearly the least product of
/// squared sensitivity and mean variance; fewer where another one gains less than 1e-4 of it. The same bits on
/// every machine: additions, products, quotients and square roots alone. What is found is no part of any proof.
/// Takes up to a second.
Buffers best_buffers(std::size_t most, std::uint64_t n, Participations participations);

/// One buffer whose first `band` diagonals do so for a record that takes part once in every `band` leaves, 2 <=
/// band
/// <= n <= 2^20: c_j = weight decay^(j-1). Likewise; about 100 n operations.
Buffers best_band_buffer(std::uint64_t n, std::uint64_t band);

/// One buffer with both numbers lambda, in (0, 1): the noise of a leaf is its draw less lambda times the one
/// before.
Buffers lambda_buffer(double lambda);
/// The lambda of least error, likewise.
double best_lambda(std::uint64_t n, Participations participations);

}  // namespace dpmpi
