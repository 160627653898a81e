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

#include "core/numbers/random.hpp"
#include "core/options.hpp"
#include "data/records/blocks.hpp"
#include "data/records/labels.hpp"
#include "objective/at_point.hpp"
#include "objective/capabilities.hpp"
#include "objective/class_weights.hpp"
#include "objective/score_writer.hpp"

namespace dpmpi {

class LibraryBuilder;

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

/// A model, as plans see it. What can be computed of its records is a capability: most have losses and scores.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual std::size_t dim() const = 0;
  virtual LabelKind label_kind() const = 0;
  virtual std::size_t classes() const { return 0; }  ///< label_kind() == class_
  virtual std::size_t outputs() const = 0;           ///< scores per record
  /// A feature (from 0) that is no input of the model: its weights are those of the others, in their order.
  virtual std::optional<std::size_t> left_out_feature() const { return {}; }
  virtual std::vector<ParameterGroup> groups() const = 0;
  /// The parts that it is made of, a line each, for plans; none: there is nothing to show.
  virtual std::vector<std::string> structure() const { return {}; }
  /// With what losses are multiplied, by the class of the record; empty: all by 1.
  virtual const ClassWeights& class_weights() const {
    static const ClassWeights none;
    return none;
  }
  /// What of its records its losses and kernels heed beside features and label: weights multiply losses, and
  /// logarithms of exposures are added to scores.
  virtual RecordFactors heeds() const { return {}; }
  /// Says how scores come from the features, without left_out_feature(); none: in no words of a ScoreWriter. The
  /// objective must outlive it.
  virtual ScoreRecipe score_recipe() const { return {}; }
  /// Floating-point operations of one clipped gradient, for plans and for balancing blocks.
  virtual double flops_per_record() const = 0;
  /// Rows per micro-batch at most (a multiple of 16).
  virtual std::size_t micro_batch_rows() const { return 128; }
  virtual LossForm form() const { return AnyForm(); }

  /// What the guarantee takes for granted about the loss, in words, for certificates.
  virtual std::vector<std::string> assumptions() const { return {}; }
  /// Throws DataError if a record of this rank cannot be what the objective's options say that it is; asked once,
  /// before any release. Values appear in the message as show_field leaves them. Local.
  virtual void check_records(const Shard& /*shard*/) const {}

  /// Public start point: the origin, unless the objective has a better one.
  virtual void initialise(const PublicStream& stream, std::span<float> w) const;

  // ---- the model, of which the parameters above may be a part: those that are trained ----

  /// The tensors of a model file. As it stands: groups().
  virtual std::vector<ParameterGroup> model_groups() const { return groups(); }
  /// Their numbers where the parameters are w; valid until the next call, and as long as w.
  virtual std::span<const float> model(std::span<const float> w) { return w; }
  /// Of those numbers keeps what is not trained, and returns the parameters.
  virtual std::vector<float> take_model(std::vector<float> numbers) { return numbers; }
  /// Training is to start at these numbers.
  void start_from(std::vector<float> numbers) { start_ = take_model(std::move(numbers)); }
  /// There, or where initialise() says.
  void start_point(const PublicStream& stream, std::span<float> w) const;

  // ---- at a point: each of these replaces what the one before has returned (at_point.hpp) ----

  /// Losses, scores and kernels at w; the span must stay valid and unchanged while they are used.
  AtPoint at(std::span<const float> w);
  /// The same for a point that is told in parts, and no kernels at it. Throws NotOffered without parts().
  PointParts at_parts();
  /// Losses at these points (public numbers, count x dim(), row-major). Whoever holds a share of the records gives
  /// the same points, for an objective that trains a model at each of them may share that work (Turns); the losses
  /// have the same bits however it is shared. Throws NotOffered without points().
  AtPoints at_points(std::span<const double> points);
  /// Pairs of losses about x and y, whose spans must stay valid and unchanged too; y empty: about one point. Throws
  /// NotOffered without pairs().
  AtProbes probes(std::span<const double> x, std::span<const double> y);
  /// Records number first, first + 1, ... that the model at w makes of a stream. Throws NotOffered without
  /// generator().
  void generate(std::span<const float> w, const PublicStream& stream, std::uint64_t first,
                std::span<float> records);

  /// What the mean of losses() over a public evaluation set is called in metrics: eval.<this>.
  virtual std::string_view loss_name() const { return "loss"; }
  /// Whether the loss is minus the log-likelihood of labels whose log-odds are the scores: sigmoid or softmax of
  /// them are then probabilities.
  virtual bool scores_are_logits() const { return false; }
  /// Whether a record's gradient may be the mean over random copies of it, as its loss never is.
  virtual bool sees_copies() const { return false; }
  /// A record whose score at w is above this counts as positive (sign labels, for the accuracy).
  virtual float decision_threshold() const { return 0; }

  // ---- capabilities: null where the objective has none ----

  PointValues* values() { return capabilities().values; }
  GradientKernel* gradients() { return capabilities().gradients; }
  const GradientKernel* gradients() const { return mine().gradients; }
  GradientMeans* means() { return capabilities().means; }
  GradientNorms* norms() { return capabilities().norms; }
  const GradientNorms* norms() const { return mine().norms; }
  /// The objective itself, if it is a min-max problem.
  SaddleObjective* saddle() { return capabilities().saddle; }
  const SaddleObjective* saddle() const { return mine().saddle; }
  PointInParts* parts() { return capabilities().parts; }
  LossesAtPoints* points() { return capabilities().points; }
  LossesTogether* together() { return capabilities().together; }
  LossPairs* pairs() { return capabilities().pairs; }
  SetMeasures* set_measures() { return capabilities().measures; }
  PublicTraining* public_training() { return capabilities().training; }
  Generator* generator() { return capabilities().generator; }
  const TellsGroups* record_groups() const { return mine().record_groups; }

  /// phi, if that is the form of the loss; else null.
  const ScalarLoss* scalar_loss() const;
  /// phi, if the loss of a record is phi(its one score, its label), whatever the score comes from; else null.
  virtual const ScalarLoss* loss_of_score() const { return scalar_loss(); }
  bool linear_softmax() const { return std::holds_alternative<SoftmaxForm>(form()); }
  /// Whether the loss is a function of products of the parameters with the record.
  bool is_linear() const { return scalar_loss() != nullptr || linear_softmax(); }

  /// What the records have of these, as whoever makes the objective says: for those who go by its form, past its
  /// kernels, and would not see them.
  RecordFactors record_factors;
  /// The columns that they are of, for messages: "columns.txt:3: column 'w'".
  struct {
    std::string weight, exposure;
  } factor_columns;
  /// Throws ConfigError for those that `who` ("clamped steps") does not heed.
  void refuse_factors(RecordFactors heeded, std::string_view who) const;
  /// Throws ConfigError if the objective sees copies, of which `who` ("methods of losses alone") would never know.
  void refuse_copies(std::string_view who) const;

  /// The public part: (l2 / 2) |w|^2 over all parameters but biases. Never probed, clipped or noised.
  double l2 = 0;
  /// gradient += l2 * w on the regularised coordinates.
  void add_regularizer_gradient(std::span<const float> w, std::span<float> gradient) const;
  double regularizer(std::span<const float> w) const;

 protected:
  /// `this` in every place for which the class inherits the capability.
  virtual Capabilities capabilities() { return {}; }
  // To know what there is changes nothing, so a constant objective may be asked for it.
  Capabilities mine() const { return const_cast<Objective*>(this)->capabilities(); }

 private:
  friend class Prepared;
  /// Sets the point of losses, scores and kernels; the span stays valid and unchanged as long as they are used.
  virtual void prepare(std::span<const float> /*w*/) {}

  std::vector<float> start_;
  std::uint64_t preparations_ = 0;  ///< so far: the number of the value that is the last to be valid
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
    /// Adds a message for each set of options that do not go together, or that is not complete.
    virtual void validate(std::vector<std::string>& /*problems*/) const {}
    /// Throws ConfigError / DataError where facts and options do not fit.
    virtual std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const = 0;
    virtual LabelKind label_kind() const = 0;
    virtual std::size_t classes() const { return 0; }
    /// The builder itself, if it has objective.class_weights; else null.
    virtual ClassWeightOption* class_weight_option() { return nullptr; }
    /// The builder itself, if the objective is code in a file; else null.
    virtual LibraryBuilder* code() { return nullptr; }
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
