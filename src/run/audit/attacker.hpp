#pragma once
// An attacker for audits: sees all that a run releases, knows the method and some records that may have taken part,
// and weighs for each of them the evidence that it did.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "data/records/blocks.hpp"
#include "objective/objective.hpp"
#include "privacy/curator/release_listener.hpp"

namespace dpmpi {

/// What one run left: numbers of one meaning at one place in every run of an audit.
struct Transcript {
  static constexpr std::size_t kept = 16;  ///< of the releases, and of the coordinates of one
  double likelihood = 0;             ///< log-likelihood ratio of the last suspect over the first (or over nobody)
  double model = 0;                  ///< the final iterate, seen along their gradients at the start
  double releases = 0;               ///< how many there were
  std::array<double, kept> steps{};  ///< the first releases, each seen along the suspects' difference
  std::array<double, kept> coordinates{};  ///< of the first release that a suspect can be part of
};

class Attacker final : public ReleaseListener {
 public:
  /// Suspects: row i of `records`, the record at position `place`[i] if it took part. One or two in a game; two are
  /// alternatives. With `slots` above 1 a suspect is a person of so many equal records, at its place and those
  /// behind it. The layout is the audited dataset's. `objective` and `records` must outlive the attacker.
  Attacker(Objective& objective, const Records& records, std::vector<std::uint64_t> places, BlockLayout layout,
           std::uint32_t slots = 1);

  /// A run begins, at this public point.
  void begin(std::span<const float> start);
  void summed(const Query& query, std::uint64_t t, const L2Bound& bound, double scale,
              const Kernel& kernel) override;
  void released(const Query& query, std::uint64_t t, std::span<const double> values) override;
  /// The run has ended.
  void end(std::span<const float> model);

  /// Of methods whose sums are not seen (phases, losses that are remembered, hidden iterates): the first release
  /// that was not seen through, or without any the model. Two runs with one key differ in it by what the record
  /// does.
  std::span<const double> effect() const { return effect_; }
  /// That difference, of the second dataset over the first, for the runs to come. The attacker knows both datasets.
  void expect(std::vector<double> difference) { expected_ = std::move(difference); }

  /// Every number that the last run's likelihood ratios were made of, in order: a release along a suspect's own
  /// contribution, of which it is so many unit lengths.
  std::span<const double> weighed() const { return weighed_; }
  /// Their mean and deviation in runs where other records contribute, too. From then on what is weighed is how far
  /// they are off; without it they are compared with a world without other records.
  void expect_background(std::vector<double> mean, std::vector<double> deviation) {
    background_ = std::move(mean), background_deviation_ = std::move(deviation);
  }

  const Transcript& transcript() const { return transcript_; }
  /// For each suspect, the log-likelihood ratio of its presence over its absence, in a world where no other record
  /// contributes; where it cannot be computed, a number that grows with the evidence.
  std::span<const double> evidence() const { return evidence_; }
  /// Sum over the releases of |c_i - c_j|^2 / noise variance, weighed by the chance to take part: how far suspects
  /// i and j (or nobody: j = suspects) were apart, from a few releases. Only after measure_distances(), and instead
  /// of evidence.
  double distance(std::size_t i, std::size_t j) const { return distances_[i * (suspects() + 1) + j]; }
  void measure_distances() { measures_ = true; }
  std::size_t suspects() const { return places_.size(); }

 private:
  using Vector = std::vector<double>;
  struct Part {  // of a suspect in a release
    double probability = 0;
    std::optional<std::uint32_t> slot = {};
    std::uint32_t records = 1;  ///< that are drawn, each by itself with this probability
  };
  struct TakenPart {
    std::uint64_t leaf;
    Vector contribution;
  };
  struct Draw {  // how many of a suspect's records took part: the chance of each, and what releases say so far
    double probability = 1;
    std::uint32_t records = 1;
    double along = 0, square = 0;  ///< of m that did the log-likelihood ratio is m along - m^2 square / 2
    double log_ratio() const;      ///< not knowing how many
  };
  struct Running {  // of one running sum: increments so far, and the leaves that each suspect took part in
    std::vector<Vector> increments;
    Vector before;
    Vector scale;  // leaf_noise_scale of each
    std::vector<std::vector<TakenPart>> taken;
    std::vector<Draw> newest;  // the draw of each suspect's newest leaf: a row sees one draw that is secret at most
    Vector norms;              // of the strategy's columns, if they are normalized
  };

  Part part(const Query& query, std::uint64_t t, std::uint64_t place);
  std::span<const std::uint32_t> slots(const Query& query, std::uint64_t pass);
  void weigh(std::span<const double> values, double noise_std);
  void weigh_running(const Query& query, std::uint64_t t, std::span<const double> values, double scale);
  void add_evidence(std::size_t suspect, double product, double square, double variance, Draw& draw);
  void note(std::span<const double> values, double noise_std);
  void add_distances(double noise_std, double weight);
  LatticeAccumulator& empty_sum(std::size_t dim, Lattice lattice, double bound, Width width);
  void contribute(const L2Bound& bound, double share, LatticeAccumulator& sum, const Kernel& kernel, std::size_t i,
                  const Part& part, std::vector<double>& values);
  void take_part(const Query& query, std::uint64_t t, const L2Bound& bound, LatticeAccumulator& sum,
                 const Kernel& kernel, std::size_t i);

  Objective& objective_;
  const Records& records_;
  std::vector<std::uint64_t> places_;
  BlockLayout layout_;
  std::uint32_t suspect_slots_;
  bool measures_ = false;

  Transcript transcript_;
  Vector evidence_, distances_;
  std::vector<Vector> gradients_;  // of the suspects at the start; empty: the objective has none
  std::vector<Part> parts_;        // in the release that is due
  std::vector<Vector> pending_;    // the suspects' contributions to it; empty: none, or unknown
  Vector other_;                   // of another of a suspect's records
  double pending_scale_ = 1;
  std::optional<LatticeAccumulator> sum_;  // of one contribution
  double sum_bound_ = 0;
  std::vector<double> lengths_;
  std::vector<Running> running_;  // by query
  std::vector<std::uint32_t> slots_;
  std::optional<std::pair<std::uint32_t, std::uint64_t>> slots_of_;  // query and pass
  Vector last_direction_, effect_, expected_, weighed_, background_, background_deviation_;
  std::size_t noted_ = 0;
  bool saw_coordinates_ = false;
  bool seen_ = false, unseen_ = false;  // whether the sum that is due, or was released, was seen
};

}  // namespace dpmpi
