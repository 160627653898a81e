#pragma once
// The losses of every record at a growing list of points, and clipped linear maps of them: contributions
// clip(M y_i), where row i of the table, y_i, holds record i's losses at all points and M is the same for all.
// Bayesian optimisation estimates every record's gradient in this way, from evaluations alone.
//
// The table is private data, of this rank's records. It is a function of records and points, so it is kept in no
// checkpoint: a run that is resumed evaluates its points again.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "objective/kernel.hpp"
#include "objective/network/products.hpp"
#include "objective/objective.hpp"
#include "objective/values/point_losses.hpp"

namespace dpmpi {

/// What stands in the table beside the loss. All of it public: coins that are independent of the records.
struct LossRule {
  double offset = 0;  ///< subtracted from every loss
  enum class Noise {
    none,
    shared,     ///< one normal number a point, the same for all records: randomness of training
    per_record  ///< one for each point and record; needs a sampling rule that numbers the records
  };
  Noise noise = Noise::none;
  double noise_std = 0;
  std::uint64_t seed = 1;
};

class LossTable {
 public:
  /// `objective` must outlive this.
  LossTable(Objective& objective, const LossRule& rule)
      : objective_(objective), point_losses_(objective), rule_(rule) {}

  /// The kernel that evaluates the records at the points that are new and adds clip(M y_i).
  /// `points`: all N points of the list, one after the other, dim() numbers each, of which the last ones are new
  /// (at least one). `first_number`: how many points were forgotten before, in the whole run: numbers the coins.
  /// `map`: M^T, N x width, row-major, width <= dimension of the sum; it is asked for once the records were
  /// evaluated at all new points (so it may be in the making until then, and may be a collective), and the points
  /// and it must stay as they are while the kernel runs. The batch must be all records, always in the same order.
  /// A record with a loss that is not finite contributes zero as long as the point is in the list. The norm of a
  /// contribution is at most clip (1 + slack().clip), whatever the losses. Collective, for models may be trained at
  /// the new points (Objective::at_points).
  using Map = std::function<std::span<const double>()>;
  Kernel kernel(std::span<const double> points, std::uint64_t first_number, Map map);

  /// Forgets the first `count` points of the list: the others move up.
  void forget_first(std::size_t count);

  static NumericSlack slack(std::size_t width);
  /// Of a table of so many records and points, at most.
  static double bytes(std::uint64_t records, double points);

 private:
  /// Rows that come together, as doubles of the table; padded to whole register tiles with zeros.
  struct Tile {
    std::size_t rows = 0;
    AlignedVector<double> values;  // padded rows x stride_
  };
  void make_room(std::size_t columns);
  void prepare(std::size_t column, std::size_t columns);
  double coin_of_all(std::size_t column) const;
  void take(std::span<const double> map);
  Tile& next(const Rows& rows);
  void evaluate(const Rows& rows);
  double coin(const Rows& rows, std::size_t r, std::size_t column) const;
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);

  Objective& objective_;
  PointLosses point_losses_;
  LossRule rule_;
  std::size_t count_ = 0, stride_ = 0;  // points evaluated; doubles between rows
  std::vector<Tile> tiles_;             // in the order in which micro-batches come
  std::size_t position_ = 0;            // of the next micro-batch

  // Of the kernel that runs.
  std::uint64_t first_number_ = 0;
  std::size_t first_ = 0, column_ = 0, width_ = 0;  // the first new column; the first one of this reading
  PackedMatrix<double> packed_;
  std::vector<double> losses_, clipped_;
  AlignedVector<double> product_;
};

}  // namespace dpmpi
