#pragma once
// What persons contribute to a sum: the mean of what their records do, clipped once (the average of a user's
// gradients in Charles et al. 2024, arXiv:2407.07737, with sampling of users).
//
// The clip is on the exact integer sum of a person's records, behind any kernel: so whatever a kernel makes of
// records, how many there are, and whether its arithmetic keeps to its slack, a person's vector of integers is no
// longer than the clip. Records themselves are clipped at MeanBound::room times that before, so that one of them
// cannot outgrow the lattice.
//
// A kernel may add the means of persons of few records by itself (Kernel::add_means), with its slack: forming that
// sum takes as long as the vectors are, whatever a person's records are.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/records/blocks.hpp"
#include "objective/kernel.hpp"
#include "privacy/curator/votes.hpp"

namespace dpmpi {

/// The persons of a batch: of each own block their places, and their numbers in the batch if the rule gives any.
struct PersonBatch {
  const Shard& shard;
  std::span<const std::vector<std::uint32_t>> selected, slots;
};

class PersonSum {
 public:
  /// For sums like this one, whose contributions have coordinates of `largest_term` at most. Kernels get at most
  /// `rows` records at once.
  PersonSum(const LatticeAccumulator& sum, double largest_term, std::size_t rows);

  /// Adds what each person of the batch contributes. Local; allocates nothing.
  /// With `votes`, which are on the lattice of the sum, persons vote by the lengths of their means.
  void add_to(LatticeAccumulator& sum, const Kernel& kernel, const L2Bound& bound, const PersonBatch& batch,
              const std::optional<Votes>& votes = {});

 private:
  std::span<const std::uint32_t> add_together(LatticeAccumulator& sum, const Kernel& kernel, const MeanBound& bound,
                                              const Records& records, std::span<const std::uint32_t> persons);
  template <class Visit>
  void show(const Records& records, std::uint32_t person, std::span<const std::uint32_t> coming,
            std::span<const std::uint32_t> slot, const Visit& visit);
  static std::span<const std::uint32_t> numbered(std::uint32_t first, std::uint32_t end,
                                                 std::span<std::uint32_t> room_for);
  void add_mean(LatticeAccumulator& sum, std::uint64_t records, double clip, const std::optional<Votes>& votes);
  Lattice lattice_for(Lattice of_sum, std::uint64_t records) const;

  LatticeAccumulator own_;
  double largest_term_;
  std::vector<std::uint32_t> rows_, slots_;
  std::vector<std::uint32_t> few_, alone_;  // persons of one block: of few records, and those added one by one
  std::array<std::uint32_t, 16> next_{};    // rows that come next
};

}  // namespace dpmpi
