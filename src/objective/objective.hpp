#pragma once
// A per-record loss and its batched kernels. Objectives know nothing about privacy: they bound what they are told
// to bound.
//
// Contract for every kernel (numerics contract N2, N4, N7):
//  - row-invariant: a record's loss or contribution has the same bits whatever rows share its micro-batch;
//  - a contribution's norm is at most clip * (1 + slack().clip) before it is rounded to the lattice;
//  - a non-finite per-record result contributes the zero vector;
//  - a kernel announces its rows to the accumulator (begin) before it adds them;
//  - nothing is allocated per call after the first one; an objective serves one thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "core/files/image.hpp"
#include "core/numbers/lattice.hpp"
#include "core/numbers/random.hpp"
#include "core/options.hpp"
#include "data/records/blocks.hpp"
#include "data/records/options.hpp"
#include "objective/math/directions.hpp"

namespace dpmpi {

class ScalarLoss;

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
};

/// Public facts that size an objective.
struct ObjectiveFacts {
  std::uint64_t features = 0;
  Storage storage = Storage::dense_f32;
  float bias = 1;
};

/// One parameter group (a layer's matrix, a bias) for per-layer clipping, initialisation and export.
struct ParameterGroup {
  std::string name;
  std::size_t offset = 0, rows = 0, cols = 0;  ///< rows x cols, row-major at offset
  std::size_t size() const { return rows * cols; }
  /// False for groups named "bias" or "*.bias", which the public regulariser leaves alone.
  bool regularised() const { return name != "bias" && !name.ends_with(".bias"); }
};

/// What a record set says of a point, beyond losses and scores.
struct Measure {
  std::string name;
  double value = 0;
};

class Objective {
 public:
  virtual ~Objective() = default;

  virtual std::size_t dim() const = 0;
  virtual LabelKind label_kind() const = 0;
  virtual std::size_t classes() const { return 0; }  ///< label_kind() == class_
  virtual std::size_t outputs() const = 0;           ///< scores per record
  virtual std::vector<ParameterGroup> groups() const = 0;
  /// Floating-point operations of one clipped gradient, for plans and for balancing blocks.
  virtual double flops_per_record() const = 0;
  /// Rows per micro-batch at most (a multiple of 16).
  virtual std::size_t micro_batch_rows() const { return 128; }
  virtual bool has_gradients() const { return true; }

  /// Reads the public data that the losses need beside the records. Collective, once, before any other call; `comm`
  /// must outlive the objective. Errors as for load().
  virtual void open(const Communicator& /*comm*/, const DataOptions& /*data*/) {}
  /// What the guarantee takes for granted about the loss, in words, for certificates.
  virtual std::vector<std::string> assumptions() const { return {}; }
  /// Throws DataError if a record of this rank cannot be what the objective's options say that it is; asked once,
  /// before any release. Values appear in the message as show_field leaves them. Local.
  virtual void check_records(const Shard& /*shard*/) const {}

  /// Public start point.
  virtual void initialise(const PublicStream& stream, std::span<float> w) const = 0;

  /// Sets the point that the kernels below evaluate at; the span must stay valid and unchanged until the next call.
  virtual void prepare(std::span<const float> w) = 0;
  /// The same as prepare() for a point that is told in parts, in ascending order without gaps, `part` being
  /// coordinates first, first + 1, ...; only losses() and scores() may follow the last one. So a point that is made
  /// on the fly need not be stored by who makes it; this version, for objectives that need all of it, stores it.
  virtual void prepare_part(std::size_t first, std::span<const float> part);

  /// out[i] = loss of row i at w (without regularisation). Non-finite stays as it is.
  virtual void losses(const Rows& rows, std::span<double> out) = 0;
  /// Sets the points (public numbers, count x dim(), row-major) of losses_at(). What prepare() and the like have
  /// set is lost. Collective: all ranks give the same points, and an objective that trains a model at each of them
  /// shares that work among the ranks of open(); the losses have the same bits on any number of ranks. This
  /// version, for objectives that have no better one, keeps them rounded to float32.
  virtual void prepare_points(std::span<const double> points);
  /// out[i] = loss of row i at point number p of prepare_points(). Non-finite stays as it is. Local.
  virtual void losses_at(std::size_t p, const Rows& rows, std::span<double> out);
  /// What the mean of losses() over a public evaluation set is called in metrics: eval.<this>.
  virtual std::string_view loss_name() const { return "loss"; }
  /// Scores (rows x outputs(), row-major) at w: margin, prediction or logits, for evaluation.
  virtual void scores(const Rows& rows, std::span<float> out) = 0;
  /// Whether the loss is minus the log-likelihood of labels whose log-odds are the scores: sigmoid or softmax of
  /// them are then probabilities.
  virtual bool scores_are_logits() const { return false; }
  /// A record whose score at w is above this counts as positive (sign labels, for the accuracy).
  virtual float decision_threshold() const { return 0; }
  /// Measures of a public evaluation set at w that are no means over records. The same bits on all ranks, on any
  /// number of them. Collective.
  virtual std::vector<Measure> measures(const Communicator& /*comm*/, const Shard& /*shard*/) { return {}; }
  /// What the model at w makes, for a run's samples.png, where it makes pictures; from public numbers and w alone.
  /// w need not be prepared, and what prepare() has set may be lost.
  virtual std::optional<GreyImage> picture(std::span<const float> /*w*/) { return {}; }
  /// Whether it ever does; otherwise nobody need have w at hand.
  virtual bool makes_pictures() const { return false; }
  /// Adds clip(grad loss_i(w)) of each row.
  virtual void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;

  /// Whether there is gradient_norms().
  virtual bool has_gradient_norms() const { return false; }
  /// out[i] = norm of row i's gradient before clipping: where the loss bounds it for all points (a scalar loss of
  /// bounded slope), that bound, else at w. Not a finite number for a row that contributes nothing.
  virtual void gradient_norms(const Rows& rows, std::span<double> out);

  /// Sets the points x and y of probe(); as in prepare(), the spans must stay valid. y empty: one point. What
  /// prepare() has set is lost.
  virtual void prepare_probes(std::span<const double> x, std::span<const double> y);
  /// The pairs of losses of one record (row.size() == 1) whose differences make zeroth-order estimators, for the
  /// directions u_j = tile.row(j): up[j] = f(x + radius u_j), and down[j] = f(y + radius u_j), or
  /// f(x - radius u_j) with one point. Non-finite stays as it is. Points, sums and losses are double, for the
  /// difference of two losses is a tiny part of them where x is near y. This version, for objectives that have no
  /// better one, rounds each point to float32 and asks for losses().
  virtual void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                     std::span<double> down);
  /// phi, if the loss is phi(<w, (features, bias)>, label); else nothing.
  virtual const ScalarLoss* scalar_loss() const { return nullptr; }
  /// Whether the loss is the cross-entropy of logits W (features) + b bias, with parameters W (classes() x
  /// features, row-major), then b (if the records have a bias column).
  virtual bool linear_softmax() const { return false; }

  virtual NumericSlack gradient_slack() const = 0;

  /// The public part: (l2 / 2) |w|^2 over all parameters but biases. Never probed, clipped or noised.
  double l2 = 0;
  /// gradient += l2 * w on the regularised coordinates.
  void add_regularizer_gradient(std::span<const float> w, std::span<float> gradient) const;
  double regularizer(std::span<const float> w) const;

 private:
  std::span<const double> probe_x_, probe_y_;
  std::vector<float> probe_point_, parts_, points_;
  std::size_t prepared_ = 0;  // which of points_; their number: none
};

/// What the registry knows about an objective. Register in the objective's own file:
///   const ObjectiveRegistration mean{{"mean", "|w - x|^2 / 2: mean estimation", make_builder<MeanBuilder>}};
struct ObjectiveEntry {
  std::string name;     ///< objective.name
  std::string summary;  ///< one line for `dpmpi list objectives`
  /// An object with its own options: declare() binds them to fields, make() builds the objective once they are
  /// read.
  struct Builder {
    virtual ~Builder() = default;
    virtual void declare(Options& options) = 0;
    /// Throws ConfigError / DataError where facts and options do not fit.
    virtual std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const = 0;
    virtual LabelKind label_kind() const = 0;
    virtual std::size_t classes() const { return 0; }
  };
  std::unique_ptr<Builder> (*builder)();
};
/// ObjectiveEntry::builder for builders of type B.
template <class B>
std::unique_ptr<ObjectiveEntry::Builder> make_builder() {
  return std::make_unique<B>();
}
const std::vector<ObjectiveEntry>& objectives();  ///< sorted by name
struct ObjectiveRegistration {
  explicit ObjectiveRegistration(ObjectiveEntry entry);
};

}  // namespace dpmpi
