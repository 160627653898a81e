#pragma once
// What an objective may be able to do beside giving losses and scores. An objective inherits the capabilities that
// it has and names them in Objective::capabilities(); whoever needs one asks for it and gets null where it is not
// there. The contract of kernels in objective.hpp holds for all of them. What works at a point is private here: it
// is reached through the values of at_point.hpp, which know whether the objective is still at theirs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/errors.hpp"
#include "core/files/image.hpp"
#include "core/numbers/lattice.hpp"
#include "data/records/blocks.hpp"
#include "objective/math/directions.hpp"

namespace dpmpi {

class ScalarLoss;
class SaddleObjective;
class PrivatePrimal;
class ClassPrior;
class Objective;
struct PublicSet;
class AtPoint;
class AtPoints;
class AtProbes;
class PointParts;
class ValuesAtPoint;

enum class Clipping { flat, per_layer };

/// The norm bound that a kernel enforces on every record. per_layer: each of L layers gets clip / sqrt(L).
struct L2Bound {
  double clip = 1;
  Clipping clipping = Clipping::flat;
};

/// What a kernel's arithmetic adds to the sensitivity, relative to the clip (N4).
struct NumericSlack {
  double clip = 0;  ///< eta_clip: how far one contribution may exceed the bound
  std::size_t summed_rows =
      1;  ///< rows b of one float32 sum before it is rounded to the lattice (1: each by itself)
  /// Of the error of a float32 sum of m rows, over that of m vectors within the clip, m (m + 2) 2^-24 clip.
  double magnification = 1;
  /// Persons whose rows may share float32 sums: GradientMeans::persons_at_once (1: each person by itself).
  std::size_t summed_persons = 1;
};

/// Some persons of one block, ascending, with all of their records.
struct Persons {
  const Records& records;
  std::span<const std::uint32_t> number;  ///< as Records::unit_begin counts them
};

/// The bound of a person's contribution.
struct MeanBound {
  /// A record's clip over that of its person: a record that is alone in its direction counts for more than others
  /// only up to here.
  static constexpr double room = 8;
  L2Bound of_record;  ///< its clip is at most `room` times that of the mean
  double clip = 1;    ///< of the mean
};

/// Losses and scores of records at a point.
class PointValues {
 protected:
  ~PointValues() = default;

 private:
  friend class ValuesAtPoint;
  /// As ValuesAtPoint::losses and scores, at the point of Objective::prepare().
  virtual void losses(const Rows& rows, std::span<double> out) = 0;
  virtual void scores(const Rows& rows, std::span<float> out) = 0;
};

/// Gradients of losses, clipped record by record.
class GradientKernel {
 public:
  virtual NumericSlack gradient_slack() const = 0;

 protected:
  ~GradientKernel() = default;

 private:
  friend class AtPoint;
  /// Adds clip(grad loss_i(w)) of each row, w being the point of Objective::prepare().
  virtual void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;
};

/// Means of the clipped gradients of persons' records, clipped person by person, where that takes no gradient of
/// each person.
class GradientMeans {
 public:
  /// Persons of one call, and records of each, at most.
  static constexpr std::size_t persons_at_once = 16, most_records = 64;

 protected:
  ~GradientMeans() = default;

 private:
  friend class AtPoint;
  /// Adds clip(mean of clip(grad loss_i(w)) over the records i) of each person, w being the point of
  /// Objective::prepare(), and announces a contribution for each. Returns those of whom nothing was added,
  /// because the arithmetic is too narrow for their records, or because a gradient of their own costs less; valid
  /// until the next call. GradientKernel::gradient_slack tells the slack, with summed_persons.
  virtual std::span<const std::uint32_t> add_clipped_means(const Persons& persons, const MeanBound& bound,
                                                           LatticeAccumulator& sum) = 0;
};

/// Norms of gradients before clipping.
class GradientNorms {
 protected:
  ~GradientNorms() = default;

 private:
  friend class AtPoint;
  /// out[i] = norm of row i's gradient: where the loss bounds it for all points (a scalar loss of bounded slope),
  /// that bound, else at the point of Objective::prepare(). Not a finite number for a row that contributes nothing.
  virtual void gradient_norms(const Rows& rows, std::span<double> out) = 0;
  /// The same at the point of Objective::prepare(), whatever the loss bounds. A row's norm does not depend on
  /// others.
  virtual void norms_at_point(const Rows& rows, std::span<double> out) { gradient_norms(rows, out); }
};

/// Takes a point piece by piece, so that whoever makes it on the fly need not store it.
class PointInParts {
 protected:
  ~PointInParts() = default;

 private:
  friend class PointParts;
  /// The same as Objective::prepare() for a point that is told in ascending order without gaps, `part` being
  /// coordinates first, first + 1, ...; only losses() and scores() follow the last one.
  virtual void prepare_part(std::size_t first, std::span<const float> part) = 0;
};

/// Losses at a list of points, where that is more than losses at one point after the other: points in double, or
/// models that are trained at them. PointLosses uses it, and does without where it is not there.
class LossesAtPoints {
 protected:
  ~LossesAtPoints() = default;

 private:
  friend class Objective;
  friend class AtPoints;
  /// Sets the points of losses_at(), as Objective::at_points() says.
  virtual void prepare_points(std::span<const double> points) = 0;
  /// out[i] = loss of row i at point number p of prepare_points(). Non-finite stays as it is. Local.
  virtual void losses_at(std::size_t p, const Rows& rows, std::span<double> out) = 0;
};

/// The pairs of losses whose differences make zeroth-order estimators, in double, for the difference of two losses
/// is a tiny part of them where the points are near. PairedLosses uses it, and does without where it is not there.
class LossPairs {
 protected:
  ~LossPairs() = default;

 private:
  friend class Objective;
  friend class AtProbes;
  /// Sets the points x and y of probe(), whose spans stay valid. y empty: one point.
  virtual void prepare_probes(std::span<const double> x, std::span<const double> y) = 0;
  /// For one record (row.size() == 1) and the directions u_j = tile.row(j): up[j] = f(x + radius u_j), and
  /// down[j] = f(y + radius u_j), or f(x - radius u_j) with one point. Non-finite stays as it is.
  virtual void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                     std::span<double> down) = 0;
};

/// What a record set says of a point, beyond losses and scores.
struct Measure {
  std::string name;
  double value = 0;
};

/// Makes numbers of a share of a record set those of the whole set. As it stands, the share is the whole set.
/// Whoever holds a share calls the same functions in the same order, which must follow from what they return and
/// from settings: never from the share.
class SetTotals {
 public:
  virtual ~SetTotals() = default;
  virtual void sum(std::span<std::int64_t> /*values*/) const {}  ///< each of the values; no total may overflow
  virtual double largest(double mine) const { return mine; }     ///< not NaN
};

/// Measures of a public evaluation set that are no means over records.
class SetMeasures {
 protected:
  ~SetMeasures() = default;

 private:
  friend class AtPoint;
  /// At the point of Objective::prepare(), of the set of which `shard` is a share. What it says follows from totals
  /// alone, which are integers or largest numbers, so that it has the same bits however the set is shared. An error
  /// that is thrown must follow from totals, too: all shares then throw alike.
  virtual std::vector<Measure> measures(const SetTotals& whole, const Shard& shard) = 0;
};

/// Models that make records, from public numbers and w alone: for `dpmpi sample` and a run's samples.png.
class Generator {
 public:
  /// Numbers of a record, as the model sees records.
  virtual std::size_t width() const = 0;
  /// `records` side by side.
  virtual GreyImage picture(const std::vector<float>& records) const = 0;

 protected:
  ~Generator() = default;

 private:
  friend class Objective;
  /// Fills `records`, width() numbers each, with those of numbers first, first + 1, ... of a stream; number i is of
  /// class i mod Objective::classes(), if there are classes. It may overwrite what Objective::prepare() has set.
  virtual void generate(std::span<const float> w, const PublicStream& stream, std::uint64_t first,
                        std::span<float> records) = 0;
};

/// Tells groups of records apart.
class TellsGroups {
 public:
  /// The group of record i; nothing if it is in none.
  virtual std::optional<std::size_t> group_of(const Records& records, std::uint32_t i) const = 0;

 protected:
  ~TellsGroups() = default;
};

/// Losses of records at many points in one call: for objectives, as modules in Python, where a call costs more than
/// a point does.
class LossesTogether {
 public:
  /// Whether a loss has the same bits whatever other points come in the same call.
  virtual bool points_are_apart() const = 0;
  /// losses[p * rows.size() + i] = loss of row i at point p, which is points[p * dim()], .., times its weight: that
  /// of AtPoint::losses, which may have other last bits. Non-finite stays as it is. Local.
  virtual void losses_together(std::span<const float> points, const Rows& rows, std::span<double> losses) = 0;

 protected:
  ~LossesTogether() = default;
};

/// Trainings of models that are shared among those who hold the same objective.
class Turns {
 public:
  virtual ~Turns() = default;
  using Train = std::function<void(std::size_t p, std::span<double> model)>;
  /// Fills `models`, `size` numbers each: train(p, model) is called for every p, somewhere, and all holders then
  /// have all models, bit for bit. A model whose first number is NaN counts as failed. All holders call it alike.
  virtual void share(std::size_t size, std::span<double> models, const Train& train) = 0;
};

/// A file of public records that an objective needs beside those whose losses it gives.
struct PublicFile {
  std::string key, name;     ///< the option that names it, for messages, and what it says
  std::size_t features = 0;  ///< that its records must have
};

/// Trains models on public records. Knowing of no files, it says which ones it needs and takes what is in them.
class PublicTraining {
 public:
  virtual PublicFile public_file() const = 0;
  /// Once: losses become a capability by it. Local. Throws ConfigError or DataError where the set does not fit.
  virtual void take(PublicSet set, std::unique_ptr<Turns> turns) = 0;

 protected:
  ~PublicTraining() = default;
};

/// What an objective is capable of: null where it is not.
struct Capabilities {
  PointValues* values = nullptr;
  GradientKernel* gradients = nullptr;
  GradientMeans* means = nullptr;  ///< only together with gradients
  GradientNorms* norms = nullptr;
  SaddleObjective* saddle = nullptr;
  PrivatePrimal* primal = nullptr;  ///< of a min-max problem
  ClassPrior* prior = nullptr;      ///< likewise
  PointInParts* parts = nullptr;
  LossesAtPoints* points = nullptr;
  LossesTogether* together = nullptr;
  LossPairs* pairs = nullptr;
  SetMeasures* measures = nullptr;
  PublicTraining* training = nullptr;
  Generator* generator = nullptr;
  const TellsGroups* record_groups = nullptr;
};

/// Somebody used what the objective does not offer, without having asked.
struct NotOffered : BugError {
  NotOffered() : BugError("an objective was asked for what it does not offer") {}
};

/// The capability, where its user relies on it: whoever plans for an objective has looked. Throws NotOffered.
template <class Capability>
Capability& offered(Capability* capability) {
  if (capability == nullptr) throw NotOffered();
  return *capability;
}

/// How a record's loss depends on the parameters, as far as methods make use of it.
struct AnyForm {};
/// phi(<w, (features, bias)>, label).
struct ScalarForm {
  const ScalarLoss* phi = nullptr;
};
/// The cross-entropy of logits W (features) + b bias, with parameters W (classes() x features, row-major), then b
/// (if the records have a bias column).
struct SoftmaxForm {};
/// |w - (features, bias)|^2 / 2.
struct DistanceForm {};
using LossForm = std::variant<AnyForm, ScalarForm, SoftmaxForm, DistanceForm>;

}  // namespace dpmpi
