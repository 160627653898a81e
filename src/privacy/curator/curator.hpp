#pragma once
// The one door through which numbers leave the ranks. It draws secret batches, forms exact sums of bounded
// contributions, and releases them: ledger line first, then noise, once.
//
// Only the root holds the noise key, the noise and un-noised sums of all ranks; the other ranks hold the selection
// keys of their own blocks (and those of noise that phases draw for records) and see released values. Where all
// ranks are trusted they hold the noise key too, and each draws the noise of a slice of the coordinates.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "core/files/archive.hpp"
#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"
#include "objective/kernel.hpp"
#include "privacy/curator/job_sums.hpp"
#include "privacy/curator/noise_slice.hpp"
#include "privacy/curator/phase_view.hpp"
#include "privacy/curator/query.hpp"
#include "privacy/curator/release_listener.hpp"
#include "privacy/curator/secret.hpp"
#include "privacy/curator/selection.hpp"
#include "privacy/curator/sum_mask.hpp"
#include "privacy/events/ledger.hpp"

namespace dpmpi {

/// A batch that was drawn for one release of one query. Which records it holds is secret.
class Batch {
 public:
  Batch(Batch&&) noexcept = default;
  Batch(const Batch&) = delete;

 private:
  friend class Curator;
  Batch(std::uint32_t query_index, std::uint64_t step) : query_index_(query_index), step_(step) {}
  std::uint32_t query_index_;
  std::uint64_t step_;
};

/// The un-noised sum of one release of a query: a ticket, the numbers stay with the curator.
struct LatticeSum {
  std::uint32_t query_index;
  std::uint64_t step;
};

class Curator {
 public:
  /// Lines are reserved in the ledger for this many steps at a time: a synced line costs more than a small model's
  /// step.
  static constexpr std::uint64_t reserved_steps = 100;

  /// Collective. `key` is read on the root only. `queries` is the plan; `comm` and `shard` must outlive the
  /// curator.
  /// `mask_sums`: hide partial sums from the ranks that a reduction passes them through, and the noise from all but
  /// the root (trust = root).
  Curator(const Communicator& comm, const Shard& shard, std::vector<Query> queries, std::size_t micro_batch_rows,
          const std::optional<SecretKey>& key, bool mask_sums = true);
  /// In a job that holds some blocks of a run whose curator is another job's. It has the keys by which these blocks
  /// are drawn from (read on the root only), and none of noise; it writes no ledger. Its part of a sum goes to
  /// `sums`, which must outlive it, and the step ends with that: release() throws HandedOver. Of queries that are
  /// sums. Collective.
  Curator(const Communicator& comm, const Shard& shard, std::vector<Query> queries, std::size_t micro_batch_rows,
          const KeyOfBlock& key_of, JobSums& sums);
  ~Curator();

  /// This job has the run's curator, and others hold records too: from now on their parts join every sum. `sums`
  /// must outlive the curator. Local.
  void join(JobSums& sums) { jobs_ = &sums; }

  /// Where releases are recorded, each line with these members (JSON text without braces) beside its own. Root
  /// only; must be set before the first draw and outlive the curator.
  void record_in(Ledger& ledger, std::string members = {}) { ledger_ = &ledger, members_ = std::move(members); }

  /// Who watches the releases from now on, for audits; must outlive the curator. Null: nobody. Local.
  void announce_to(ReleaseListener* listener) { listener_ = listener; }

  /// The batch of the query's release t, drawn by its rule. Local, but all ranks must call it in the same order.
  Batch draw(const Query& query, std::uint64_t t);

  /// The exact sum of the kernel's contributions over the batch, with the noise already in it. Collective.
  /// Once per release: throws PrivacyError if this (query, release) was summed before, here or in the run that this
  /// one goes on with. `scale` in (0, 1], a public value: the kernel clips at scale * query.clip_at(step), and the
  /// noise shrinks with the sensitivity (of running sums only if they are adaptive). Of a query with votes that is
  /// the bound of vector and vote together; the kernel adds the vector, and the curator the votes.
  Secret<LatticeSum> sum(const Query& query, const Batch& batch, const Kernel& kernel, double scale = 1);

  /// Release t of Phases: runs `program` over its part on all ranks, and adds the root's noise to the vector that
  /// it hands over. Collective; instead of draw and sum, and once per release like them. Released by release_exact.
  /// Throws PrivacyError on several ranks unless all are trusted (mask_sums = false), because all of them see the
  /// program's state; and if this or a later release was summed before.
  Secret<LatticeSum> run_phase(const Query& query, std::uint64_t t, const PhaseProgram& program);

  /// Release t of BestOfRuns: runs `program` as often as the query's law says, with noise for each run, and
  /// releases the run with the smallest score. How often that was stays secret, and so do the other runs. The same
  /// on all ranks, valid until the query's next release. Collective; instead of draw, sum and release. Throws
  /// PrivacyError like run_phase.
  Selection best_of_runs(const Query& query, std::uint64_t t, const RunProgram& program);

  /// In a program of best_of_runs: this run's training of a candidate, through a curator of its own, with a key of
  /// its own, whose releases this query pays for. Throws PrivacyError if they are not those of the candidate.
  /// Collective.
  void train_in_run(const Query& query, std::size_t candidate, const std::function<void(Curator&)>& training);

  /// Of a running sum: the sum of all leaves of the run so far, with correlated noise. Of any other query: the sum
  /// plus noise of deviation noise_std per coordinate, of the law that the query declares. The same on all ranks,
  /// valid until the query's next release. Collective.
  std::span<const float> release(Secret<LatticeSum> total);
  /// The same for an exact query, to the last bit of the lattice: 8 bytes a coordinate.
  std::span<const double> release_exact(Secret<LatticeSum> total);

  /// A key of public randomness that nobody knew when the data was fixed: derived from the run's key, the same on
  /// all ranks and in a resumed run. It says nothing about the noise. Local.
  std::uint64_t public_key() const { return public_key_; }
  /// Public numbers of which every rank needs the same bits, from code whose bits depend on the machine (library
  /// functions, eigenvectors) or that is too costly to be run by all: `compute` runs on the root alone, and what it
  /// leaves in `values` goes to all. It knows nothing but what every rank knows, so this is no release. Collective.
  void broadcast_from_root(std::vector<double>& values, const std::function<void(std::vector<double>&)>& compute);
  /// The same in two parts, between which the ranks need not wait for the root: `compute` runs on the root alone
  /// (local), and what it left in some vector goes to all by the second call (collective).
  void compute_at_root(const std::function<void()>& compute);
  void broadcast_from_root(std::vector<double>& values);
  /// Standard normals number first + i of step t (`first` a multiple of 8) from a stream that the ranks share and
  /// nobody else knows, independent of the noise of all releases. Hides iterates from outsiders, nothing from a
  /// rank. Local; for runs with a query that declares worker_noise.
  void worker_noise(std::uint64_t t, std::uint64_t first, std::span<double> out);

  /// Asks all ranks to stop; the request travels with the next sum, the answer with its release. Local.
  void request_stop() { stop_requested_ = true; }
  bool stop_agreed() const { return stop_agreed_; }

  /// Goes on at step t of a run whose ledger was given to record_in: finds what the ledger has paid for, and
  /// completes a write that was interrupted between two lines. Earlier steps can never be released again.
  /// Collective; throws PrivacyError if the ledger is not one that these queries write.
  void resume_at(std::uint64_t t);

  /// What a resumed run needs beside the key: the newest release of every running sum. Public values. Root only;
  /// before resume_at.
  void archive(Archive& archive);

  /// Seconds spent so far in each phase, on this rank, for timing reports.
  struct Timing {
    double sampling = 0, kernels = 0, reduce = 0, noise = 0, broadcast = 0, ledger = 0;
  };
  const Timing& timing() const { return timing_; }

 private:
  struct QueryState;
  QueryState& state(std::uint32_t query_index);
  void declare(const std::vector<Query>& queries, std::size_t micro_batch_rows);
  void take_block_keys(const std::vector<SecretKey>& keys);
  void share_keys(const std::optional<SecretKey>& key);
  std::unique_ptr<SecretStream> shared_stream(const std::optional<SecretKey>& key, std::string_view purpose);
  void add_run(QueryState& s, std::uint64_t t, std::uint64_t run, const Kernel& kernel);
  void uniforms_of_run(const QueryState& s, std::uint64_t t, std::uint64_t run, std::span<double> out);
  void refuse_untrusted_ranks(const Query& query) const;
  void begin_step(const QueryState& s, std::uint64_t t);
  void refuse_second_sum(const QueryState& s, std::uint64_t t) const;
  QueryState& begin_release(const LatticeSum& total);
  std::uint64_t window_end(std::uint64_t step) const;
  std::vector<LedgerEntry> entries(std::uint64_t first, std::uint64_t last) const;
  void reserve(std::uint64_t step);
  Slice noise_slice(const Query& query) const;
  void add_noise(QueryState& s, std::uint64_t step, double scale, const Slice& slice);
  PhaseNoise phase_noise(const QueryState& s, std::uint64_t step);

  const Communicator& comm_;
  const Shard& shard_;
  Ledger* ledger_ = nullptr;
  std::string members_;  // of each line
  std::vector<std::unique_ptr<QueryState>> states_;
  std::unique_ptr<SecretStream> noise_;    // of ranks that draw noise: the root, or all (noise_by_slices_)
  std::unique_ptr<SecretStream> shared_;   // noise that ranks add by themselves, if a query declares it
  std::unique_ptr<SecretStream> count_;    // root only: how often runs are repeated
  std::unique_ptr<SecretStream> runs_;     // uniform numbers of repeated runs, if a query declares them
  std::optional<SecretKey> training_key_;  // root only: of what repeated runs train
  std::uint64_t public_key_ = 0;
  bool curates_;                         // the root, in the job of the run's curator
  bool hands_over_ = false;              // another job has the run's curator
  JobSums* jobs_ = nullptr;              // if there are several jobs
  bool ranks_trusted_;                   // with un-noised sums of all
  bool noise_by_slices_ = false;         // drawn by all ranks together
  std::optional<SumMask> mask_;          // more than two ranks: with two, the root receives from the other directly
  std::vector<SecretStream> selection_;  // one for each own block
  std::vector<SecretStream> phase_noise_;             // likewise, if a query declares noise of phases
  std::unique_ptr<SecretStream> shared_phase_noise_;  // root only
  std::uint64_t steps_ = 0, reserved_ = 0;            // steps of the plan; steps covered by ledger lines
  bool stop_requested_ = false, stop_agreed_ = false;
  ReleaseListener* listener_ = nullptr;
  std::vector<double> shown_;  // to the listener
  Timing timing_;
};

}  // namespace dpmpi
