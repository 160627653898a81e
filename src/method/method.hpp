#pragma once
// A method: what one paper (or one classic) does at the root and on the ranks. It is three things: settings, which
// the config fills; a plan, which follows from them and from public facts; and the algorithm, which runs, written
// as its step. It never sees records, shards or MPI; it asks the curator. All ranks run the same code on the same
// released values.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/files/archive.hpp"
#include "core/options.hpp"
#include "method/clipped_records.hpp"
#include "objective/objective.hpp"
#include "privacy/curator/curator.hpp"

namespace dpmpi {

/// What a method may know before it touches a record: all of it public.
struct PublicFacts {
  DatasetFacts data;
  const Objective* objective = nullptr;
  Adjacency adjacency = Adjacency::add_remove;
  /// The privacy target as rho-GDP, for methods that choose their settings by it; infinity: without noise.
  double rho = 1;
  /// The target itself: delta, and one of the other two (0: not given).
  double delta = 1e-5, epsilon = 0, noise_multiplier = 0;
  /// Every rank may see un-noised sums and hidden iterates (privacy.trust = cluster).
  bool ranks_trusted = true;
  /// Value of the bias column.
  float bias = 1;
};

/// What a method derived from its options and the public facts, each under its source's own symbol.
using Derived = std::vector<std::pair<std::string, std::variant<double, std::string>>>;

/// A method while it runs: its state between steps. It owns all of it and changes nothing else.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  /// Step t = 0, 1, ... Collective through the curator.
  virtual void step(Curator& curator, std::uint64_t t) = 0;
  /// The public iterate after a step that releases it: evaluated, and the model. Valid until the next call of any
  /// function.
  virtual std::span<const float> iterate() = 0;
  /// Public numbers about the method's own state after a step that releases its iterate, for metrics.jsonl
  /// ("method.NAME") and the report's pictures. Root only.
  virtual std::vector<Measure> measures() const { return {}; }
  /// "section.key=value" of what the run itself chose, likewise public.
  virtual std::vector<std::string> chosen() const { return {}; }
  /// The state that must be the same on all ranks: compared during the run. Valid until the next call of any
  /// function.
  virtual std::span<const std::byte> replicated() { return std::as_bytes(iterate()); }
  /// Of the sum that a step would make at the present iterate. Empty: it clips nothing, or its clip is not known
  /// yet. What it returns takes the objective to another point, and is valid until the algorithm is used again.
  /// Local.
  virtual SizesOverClip sizes_over_clip() { return {}; }
  /// Names every field that a resumed run needs.
  virtual void archive(Archive& archive) = 0;
};

/// Bytes that a run keeps beside records and parameters, at most. Runs that would not fit are refused before data
/// is read.
struct Footprint {
  double ranks = 0;  ///< of all ranks, of each in proportion to its records
  double root = 0;
  std::string what = {};  ///< in words, and which settings make it smaller
};

/// A way to correlate the noise of the steps, in the same run under the same promise.
struct NoiseAlternative {
  std::string settings;    ///< in words
  double error = 0;        ///< root mean square over the steps, in units of the clip over the run's mu
  std::uint64_t rows = 0;  ///< of d doubles, kept at the root
  bool taken = false;
};

/// What a run of a method will do, as it follows from settings and public facts. Nothing in it ever changes, and it
/// starts as many runs as one likes. The objective of the facts must outlive it.
class MethodPlan {
 public:
  virtual ~MethodPlan() = default;

  std::uint64_t steps = 1;
  /// What the guarantee takes for granted beside the proof, in words, for certificates.
  std::vector<std::string> assumptions = {};
  Footprint footprint = {};
  /// The most points that a run hands to Objective::at_points(), where a model may be trained at each.
  /// Nothing: it asks for losses in other ways, or at a number of points that must not be told.
  std::optional<std::uint64_t> most_points = {};

  /// The releases that the run will make, as a function of the noise multiplier; with 0 none of them has noise.
  /// Noise and nothing else depends on it. Throws ConfigError.
  virtual std::vector<QuerySpec> queries(double noise_multiplier) const = 0;
  /// Whether the iterate after t steps is released: evaluated, and shown with what follows from it. Iterates
  /// between those stay inside the run.
  virtual bool releases(std::uint64_t /*t*/) const { return true; }
  /// For plans: the quantities of the source, e.g. {"q", 0.01}. `queries` are those of queries(), declared.
  virtual Derived report_quantities(const std::vector<Query>& /*queries*/) const { return {}; }
  /// Text that plans print at their end, e.g. curves that are no certificates. Empty: nothing.
  virtual std::string notes(const std::vector<Query>& /*queries*/) const { return {}; }
  /// For `dpmpi plan`: takes up to some seconds.
  virtual std::vector<NoiseAlternative> noise_alternatives() const { return {}; }
  /// What two looks at a run, the second after `steps` > 0 more steps, say in Algorithm::measures() that no run of
  /// this plan does, in words; empty: nothing, or nobody can say. At the start the first look has no measures. For
  /// `dpmpi verify`. Local.
  virtual std::string contradiction(const std::vector<Measure>& /*earlier*/, const std::vector<Measure>& /*later*/,
                                    std::uint64_t /*steps*/) const {
    return {};
  }
  /// Tries what can be tried of the assumptions on synthetic public records, before any step. Throws PrivacyError.
  /// Local; takes the objective to other points.
  virtual void check_assumptions(Objective& /*objective*/) const {}

  /// A run at its start point. `objective`, which must outlive it, has the dimension and the slack of that of the
  /// facts; `queries` are those of queries(), declared.
  virtual std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const = 0;
};

/// What a config says of a method. Nothing in it changes after it was read.
class MethodSettings {
 public:
  virtual ~MethodSettings() = default;

  /// Declares the options (section [method]) that fill this object's fields.
  virtual void declare(Options& options) = 0;
  /// Appends one message per problem between options. Called before any data is touched.
  virtual void validate(std::vector<std::string>& /*problems*/) const {}
  /// What the run releases, in words.
  virtual std::string describe_releases() const { return "the model and every iterate"; }
  /// Throws ConfigError or PrivacyError where settings and facts do not fit. Local.
  virtual std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const = 0;
};

/// What the registry knows of a method. Register in the method's own file.
struct MethodEntry {
  std::string name;     ///< method.name
  std::string summary;  ///< one line for `dpmpi list methods`
  std::string source;   ///< paper, theorem or algorithm
  std::unique_ptr<MethodSettings> (*make)();
};
/// MethodEntry::make for settings of type S.
template <class S>
std::unique_ptr<MethodSettings> make_method() {
  return std::make_unique<S>();
}
const std::vector<MethodEntry>& methods();  ///< sorted by name
struct MethodRegistration {
  explicit MethodRegistration(MethodEntry entry);
};

}  // namespace dpmpi
