#pragma once
// The kernels of an objective as values that a curator can run over a batch.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

/// What a curator does with a batch: it reads all micro-batches `readings` times, always in the same order, and
/// adds the bounded contributions of each to the lattice in the last reading; without `read`, in every reading. One
/// reading is the rule; estimators that hold one part of their directions at a time ask for more.
struct Kernel {
  using Add = std::function<void(const Rows&, const L2Bound&, LatticeAccumulator&)>;

  Kernel() = default;
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Kernel> && std::constructible_from<Add, F>) Kernel(F&& adds)
      : add(std::forward<F>(adds)) {}  // NOLINT: a kernel of one reading is a function
  void operator()(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const { add(rows, bound, sum); }

  /// Calls visit(callback) once a reading, where visit shows every micro-batch of the batch to its callback.
  template <class VisitRows>
  void run(const L2Bound& bound, LatticeAccumulator& sum, VisitRows&& visit) const {
    for (std::size_t reading = 0; reading < readings; ++reading) {
      if (begin) begin(reading);
      if (read && reading + 1 < readings)
        visit(read);
      else
        visit([&](const Rows& rows) { add(rows, bound, sum); });
    }
  }

  Add add;  ///< adds the contributions of one micro-batch
  /// Adds the clipped means of persons of few records, as GradientMeans::add_clipped_means. May be empty: then, and
  /// for those that it returns, the means are made of what add() does. Only of kernels that do not look at
  /// Rows::slot.
  std::function<std::span<const std::uint32_t>(const Persons&, const MeanBound&, LatticeAccumulator&)> add_means;
  /// out[i] = how long the contribution of row i is before it is clipped; not a finite number if it adds nothing.
  /// May be empty.
  std::function<void(const Rows&, std::span<double> out)> lengths;
  std::size_t readings = 1;                ///< the same on every rank
  std::function<void(std::size_t)> begin;  ///< called before reading number 0 .. readings - 1; may be empty
  std::function<void(const Rows&)> read;   ///< the micro-batches of the readings before the last; may be empty
  bool one_hot = false;                    ///< every contribution is a unit vector or zero: see one_hot_counts
  bool remembers = false;  ///< keeps what it has read of the rows of its batch: not to be run on any others
};

/// Counts records: record i adds 1 to coordinate place[i] of the sum, or nothing where that is no coordinate.
/// `find` fills place[i] for the rows of a micro-batch; what it returns may depend on a record and on public values
/// only.
template <class Find>
Kernel one_hot_counts(Find find) {
  Kernel kernel = [find, place = std::vector<std::size_t>()](const Rows& rows, const L2Bound&,
                                                             LatticeAccumulator& sum) mutable {
    place.resize(std::max(place.size(), rows.size()));
    find(rows, std::span(place).first(rows.size()));
    constexpr double one = 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sum.begin(1);
      if (place[i] < sum.dim()) sum.add(place[i], std::span(&one, 1));
    }
  };
  kernel.one_hot = true;
  return kernel;
}

/// sum_i clip(grad f_i(w)). `w` must stay unchanged while the kernel runs, and the objective at it. Local.
inline Kernel clipped_gradients(Objective& objective, std::span<const float> w) {
  offered(objective.gradients());
  const AtPoint at = objective.at(w);
  Kernel kernel = [at](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    at.add_clipped_gradients(rows, bound, sum);
  };
  if (objective.means())
    kernel.add_means = [at](const Persons& persons, const MeanBound& bound, LatticeAccumulator& sum) {
      return at.add_clipped_means(persons, bound, sum);
    };
  if (objective.norms())
    kernel.lengths = [at](const Rows& rows, std::span<double> out) { at.norms_at_point(rows, out); };
  return kernel;
}

}  // namespace dpmpi
