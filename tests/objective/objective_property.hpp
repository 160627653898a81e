#pragma once
// The contract of objective.hpp as property tests for any Objective. Use: fill a PropertyCase and call
// check_contract(). Every check works on one record at a time or on bits, so that nothing is asked of how an
// objective batches its work.

#include "objective/class_weights.hpp"
#include "objective/gradient_property.hpp"
#include "objective/norm_property.hpp"
#include "objective/property_case.hpp"
#include "objective/row_property.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test {

// ---- what kernels leave alone ----

/// Regularisation is public: it changes no loss and no contribution.
inline void check_regularizer_stays_out(const PropertyCase& c) {
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const auto index = all_rows(c.records);
  const double l2 = c.objective.l2;
  const auto total_of = [&] {
    return contributions(c.objective, clipped_gradients(c.objective, c.w), c.records, index, bound, lattice);
  };
  c.objective.l2 = 0;
  const auto losses = losses_of(c.objective, c.w, c.records, index);
  const auto total = total_of();
  c.objective.l2 = 10;
  EXPECT_TRUE(same_bits(losses_of(c.objective, c.w, c.records, index), losses));
  EXPECT_EQ(total_of(), total);
  c.objective.l2 = l2;
}

/// A point that is told in parts is the same point, once it is told to its end.
inline void check_parts(const PropertyCase& c) {
  if (!c.objective.parts()) {
    EXPECT_THROW(c.objective.at_parts(), NotOffered);
    return;
  }
  const auto index = all_rows(c.records);
  const std::vector<double> whole = losses_of(c.objective, c.w, c.records, index);
  const std::vector<float> other = moved(c.w, 1);
  const AtPoint at_other = c.objective.at(other);
  const std::span<const float> w(c.w);
  PointParts parts = c.objective.at_parts();
  EXPECT_THROW(losses_at(at_other, c.objective, c.records, index), PointReplaced);
  for (std::size_t first = 0, size = 1; first < w.size(); first += size, size = 2 * size + 1) {
    EXPECT_THROW(parts.complete(), BugError);
    parts.add(w.subspan(first, std::min(size, w.size() - first)));
  }
  EXPECT_THROW(parts.add(w.first(1)), BugError) << "more than all of it";
  EXPECT_TRUE(same_bits(losses_at(parts.complete(), c.objective, c.records, index), whole));
}

/// Whoever is still at a point that the objective has left is told so, whatever it was left for. What was left is
/// left for good: coming back to the point makes a new value.
inline void check_points_are_replaced(const PropertyCase& c) {
  const std::uint32_t first[] = {0};
  const Rows row{c.records, first};
  std::vector<double> loss(1);
  std::vector<float> scores(c.objective.outputs());
  LatticeAccumulator sum(c.objective.dim(), test_lattice(1), 1.01);
  const AtPoint at = c.objective.at(c.w);
  EXPECT_NO_THROW(at.losses(row, loss));
  const auto replaced = [&](const AtPoint& old) {
    EXPECT_THROW(old.losses(row, loss), PointReplaced);
    EXPECT_THROW(old.scores(row, scores), PointReplaced);
    EXPECT_THROW(old.add_clipped_gradients(row, {1}, sum), PointReplaced);
    EXPECT_THROW(old.gradient_norms(row, loss), PointReplaced);
    EXPECT_THROW(old.measures(SetTotals(), {}), PointReplaced);
  };
  const AtPoint again = c.objective.at(c.w);
  EXPECT_NO_THROW(again.losses(row, loss));
  replaced(at);
  replaced(AtPoint());
  const std::vector<double> x = widened(c.w);
  const AlignedVector<double> nowhere(round_up(x.size(), 8), 0.0);
  const DirectionTile tile{nowhere.data(), 0, 1, nowhere.size()};
  std::vector<double> down(1);
  const auto probe = [&](const AtProbes& about) { about.probe(row, 1, tile, loss, down); };
  EXPECT_THROW(probe(AtProbes()), PointReplaced);
  if (c.objective.pairs()) {
    const AtProbes about = c.objective.probes(x, {});
    EXPECT_NO_THROW(probe(about));
    replaced(again);
    c.objective.at(c.w);
    EXPECT_THROW(probe(about), PointReplaced);
  } else {
    EXPECT_THROW(c.objective.probes(x, {}), NotOffered);
  }
  EXPECT_THROW(AtPoints().losses(0, row, loss), PointReplaced);
  if (c.objective.points()) {
    const AtPoints all = c.objective.at_points(x);
    EXPECT_NO_THROW(all.losses(0, row, loss));
    replaced(again);
    c.objective.at(c.w);
    EXPECT_THROW(all.losses(0, row, loss), PointReplaced);
  } else {
    EXPECT_THROW(c.objective.at_points(x), NotOffered);
  }
}

/// After a first round no kernel allocates memory.
inline void check_no_allocation(const PropertyCase& c) {
  const auto index = all_rows(c.records);
  const Rows rows{c.records, std::span(index).first(std::min(index.size(), c.objective.micro_batch_rows()))};
  const std::vector<float> v = moved(c.w, 0.1);
  const L2Bound bound{.clip = 0.5};
  LatticeAccumulator sum(c.objective.dim(), test_lattice(bound.clip), bound.clip * 1.01);
  std::vector<double> losses(rows.size());
  std::vector<float> scores(rows.size() * c.objective.outputs());
  const auto round = [&] {
    for (Clipping clipping : c.clippings) {
      const AtPoint at = c.objective.at(c.w);
      at.losses(rows, losses);
      at.scores(rows, scores);
      clipped_gradients(c.objective, c.w)(rows, {bound.clip, clipping}, sum);
      if (c.differences) c.differences->at(c.w, v)(rows, {bound.clip, clipping}, sum);
    }
  };
  round();
  const std::size_t before = allocation_count();
  round();
  EXPECT_EQ(allocation_count() - before, 0U);
}

/// Norms of gradients are those that clipping would meet, or a bound on them for every point where the loss has
/// one, with the weight of the record's class; not finite for what contributes nothing.
inline void check_gradient_norms(const PropertyCase& c) {
  if (!c.objective.norms()) return;
  const ScalarLoss* loss = c.objective.scalar_loss();
  const double bound = loss ? loss->slope_bound() : std::numeric_limits<double>::infinity();
  Records records = c.records;
  empty_slot(records, 1);
  std::vector<std::uint32_t> all(std::min(records.count, c.objective.micro_batch_rows()));
  std::iota(all.begin(), all.end(), 0U);
  std::vector<double> norms(all.size());
  c.objective.at(c.w).gradient_norms({records, all}, norms);
  EXPECT_FALSE(std::isfinite(norms[1])) << "an empty slot";
  for (const std::uint32_t i : {0U, 2U, all.back()}) {
    const double norm = norm_of(gradient_of(c.objective, c.w, records, i));
    if (std::isfinite(bound)) {
      EXPECT_LE(norm, norms[i] * (1 + c.tolerance));
      const ClassWeights& weights = c.objective.class_weights();
      const double share = weights.of(c.objective.label_kind(), records.label[i]) / weights.largest();
      EXPECT_NEAR(norms[i], bound * share * records.weight_of(i) * records.norm[i], 1e-12 * (1 + norms[i]));
    } else {
      EXPECT_NEAR(norm, norms[i], c.tolerance * std::max(1.0, norm)) << "record " << i;
    }
  }
}

/// Everything that applies to the case.
inline void check_contract(const PropertyCase& c) {
  ASSERT_EQ(c.w.size(), c.objective.dim());
  ASSERT_EQ(c.objective.micro_batch_rows() % 16, 0U);
  if (c.reference.loss) check_reference(c);
  check_finite_differences(c);
  check_norm_bounds(c);
  check_row_invariance(c);
  check_bad_records(c);
  check_tiny_differences(c);
  check_difference_symmetry(c);
  check_regularizer_stays_out(c);
  check_parts(c);
  check_points_are_replaced(c);
  check_no_allocation(c);
  check_gradient_norms(c);
}

}  // namespace dpmpi::test
