#pragma once
// How kinds of query find their lattices. docs/theory/numerics.md has the proofs.

#include <cstdint>
#include <string>
#include <string_view>

#include "privacy/curator/query.hpp"

namespace dpmpi {

inline constexpr double largest_eta = 1e-2;  ///< a private query with more numerical slack is refused

/// The deviation of a query's noise, with as much slack as there may be.
inline double likely_noise(const Query& q) {
  return q.noise_multiplier * q.change * q.bound.clip * (1 + largest_eta);
}
/// For so many terms of at most this size. Throws ConfigError, which names the option that makes them large.
Lattice fit_lattice(const Query& query, double largest, std::uint64_t terms, std::string_view option);
/// Lattice, slack and largest term of a sum over so many records at most, whose clips lie between these and come
/// from `option`.
void declare_sum(Query& query, std::uint64_t records, double smallest_clip, double largest_clip,
                 std::string_view option = "method.clip");
void declare_sum(Query& query, std::string_view option = "method.clip");  ///< over a batch
/// That the last coordinate of a sum can be one of votes, if they have a share.
void check_votes(const Query& query);
/// Throws PrivacyError if noise of another law than N(0, std^2) has no analysis for `what`.
void check_gaussian(const Query& query, std::string_view what);

/// An event for each round of so many releases that begins with one of first .. last-1.
Events events_of_rounds(const Mechanism& round, std::uint64_t releases, std::uint64_t first, std::uint64_t last);
std::string describe_clip(const Query& query);
std::string describe_votes(const Query& query);

}  // namespace dpmpi
