#pragma once
// Phases: programs that go over one part of the data while their state is not noised, and hand over one vector that
// is. For methods whose privacy is that of a phase's end point, e.g. because every step between is a contraction.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/records/part_index.hpp"
#include "objective/kernel.hpp"

namespace dpmpi {

/// Buffers of the phases of one query, kept from phase to phase.
class PhaseWorkspace {
 public:
  explicit PhaseWorkspace(std::size_t dim) : result(dim) {}

  std::vector<double> result;  ///< what the program hands over

 private:
  friend class PhaseView;
  struct Sum {
    LatticeAccumulator total;
    std::vector<double> values;
  };
  std::vector<Sum> sums_;  // of the present phase, by dimension and lattice
  std::vector<std::uint32_t> rows_, places_;
};

/// Noise that programs draw by themselves: one stream for each own block, and what all ranks share.
struct PhaseNoise {
  std::span<SecretStream> of_blocks;
  std::uint64_t step = 0;
  std::uint32_t query_index = 0;
  double normal = 0;
};

/// What a program sees of its part: un-noised sums and a state that goes from record to record. All ranks run the
/// program and see the same bits, so its decisions are the same on all of them. None of this may be kept, printed
/// or timed beyond the phase; what comes of it is the vector that the program hands over.
class PhaseView {
 public:
  PhaseView(const PhaseView&) = delete;

  /// Records of the part, with places 0 .. records()-1 as the sampling rule numbers them. Public.
  std::uint64_t records() const { return records_; }

  /// The sum of the kernel's contributions over places [begin, end), each bounded by `bound`, on the lattice of
  /// quantum(bound, end - begin): without noise, and the same on all ranks. Its coordinates are rounded to double
  /// once. `dim` coordinates; 0: as many as the query has. The accumulator has Width::int64, and Rows::slot is the
  /// place less `begin`. Valid until the next sum. Collective.
  std::span<const double> sum(std::uint64_t begin, std::uint64_t end, const L2Bound& bound, const Kernel& kernel,
                              std::size_t dim = 0);
  /// Of the lattice on which a sum over so many places is formed: every contribution is rounded to it, by half a
  /// quantum in each coordinate. From public values; for plans.
  static double quantum(const L2Bound& bound, std::uint64_t places);

  /// Called with one record at a time (Rows::slot is its place) and the state, which it may change.
  using Visit = std::function<void(const Rows& record, std::span<double> state)>;
  /// Takes the state through all records of the part in the order of their places (by_block), from rank to rank:
  /// each rank visits its own records and hands the state on. `state` is the same on all ranks before and after.
  /// Collective.
  void sequential_pass(std::span<double> state, const Visit& visit);

  /// Draws for queries that declare Phases::own_noise, independent of the noise of all releases: functions of the
  /// run's key, the phase and, of the second, the record's position, whatever rank holds it. As secret as the
  /// state. A standard normal, the same at every call and on all ranks.
  double normal() const;
  /// A standard Laplace draw for a row of the block that is being visited by a sum's kernel or a sequential pass:
  /// independent of those of other rows, the same at every call.
  double laplace(std::uint32_t row) const;

 private:
  friend class Curator;
  PhaseView(const Communicator& comm, const Shard& shard, PartIndex& places, const Disjoint& rule, std::size_t part,
            std::size_t rows_at_once, PhaseWorkspace& work, const PhaseNoise* own_noise);
  PhaseWorkspace::Sum& sum_on(Lattice lattice, std::size_t dim, double bound);

  const Communicator& comm_;
  const Shard& shard_;
  PartIndex& places_;
  std::size_t part_;
  std::uint64_t records_;
  bool by_block_;
  std::size_t rows_at_once_;  // of a micro-batch
  PhaseWorkspace& work_;
  const PhaseNoise* own_noise_;
  std::size_t visited_ = 0;  // block
};

/// A phase: writes the vector that it hands over to `result` (the query's dimension, zero before). It must be
/// finite.
using PhaseProgram = std::function<void(PhaseView& phase, std::span<double> result)>;

}  // namespace dpmpi
