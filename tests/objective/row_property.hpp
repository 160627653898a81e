#pragma once
// A record's bits do not depend on its company, and records that must not count do not.

#include "objective/property_case.hpp"

namespace dpmpi::test {

/// Everything that is computed for one record, as bits.
struct RecordBits {
  std::vector<double> loss;
  std::vector<float> scores;
  std::vector<double> norm;  ///< of gradients, where they are told
};

inline RecordBits bits_of(const PropertyCase& c, const AtPoint& at, const Records& records,
                          std::span<const std::uint32_t> index) {
  RecordBits b{std::vector<double>(index.size()), std::vector<float>(index.size() * c.objective.outputs()),
               std::vector<double>(c.objective.norms() ? index.size() : 0)};
  for (std::size_t i = 0; i < index.size(); i += c.objective.micro_batch_rows()) {
    const std::size_t n = std::min(c.objective.micro_batch_rows(), index.size() - i), out = c.objective.outputs();
    const Rows rows{records, index.subspan(i, n)};
    at.losses(rows, std::span(b.loss).subspan(i, n));
    at.scores(rows, std::span(b.scores).subspan(i * out, n * out));
    if (c.objective.norms()) at.norms_at_point(rows, std::span(b.norm).subspan(i, n));
  }
  return b;
}

inline void expect_record_bits(const RecordBits& one, const RecordBits& many, std::size_t place, const char* what) {
  const auto part = [](const auto& v, std::size_t i, std::size_t n) {
    const auto first = v.begin() + static_cast<std::ptrdiff_t>(i * n);
    return std::vector(first, first + static_cast<std::ptrdiff_t>(n));
  };
  EXPECT_TRUE(same_bits(one.loss, part(many.loss, place, 1))) << what << ": loss at place " << place;
  EXPECT_TRUE(same_bits(one.scores, part(many.scores, place, one.scores.size())))
      << what << ": scores at " << place;
  EXPECT_TRUE(same_bits(one.norm, part(many.norm, place, one.norm.size()))) << what << ": norm at " << place;
}

/// Single contributions have the same bits alone and among empty slots; totals are the exact sums of single
/// contributions where each goes to the lattice by itself. `shuffled`: the records in another order.
inline void check_kernel_rows(const PropertyCase& c, const Kernel& kernel, const NumericSlack& slack,
                              const Records& shuffled, std::mt19937& bits) {
  const Records& records = c.records;
  const std::size_t dim = c.objective.dim();
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const auto sum_of = [&](const Records& r) {
    return contributions(c.objective, kernel, r, all_rows(records), bound, lattice);
  };
  std::vector<std::vector<std::int64_t>> single;
  std::vector<std::int64_t> expected(dim, 0);
  for (std::size_t i = 0; i < records.count; ++i) {
    single.push_back(contribution(c.objective, kernel, records, i, bound, lattice));
    for (std::size_t j = 0; j < dim; ++j) expected[j] += single.back()[j];
  }
  // One record among others that are processed but empty: the sum is that record's contribution.
  for (int trial = 0; trial < 4; ++trial) {
    const std::size_t kept = bits() % records.count;
    Records emptied = records;
    for (std::size_t i = 0; i < records.count; ++i)
      if (i != kept) empty_slot(emptied, i);
    EXPECT_EQ(sum_of(emptied), single[kept]) << "record " << kept << " among empty slots";
  }
  const auto total = sum_of(records);
  if (slack.summed_rows == 1) {
    EXPECT_EQ(total, expected) << "sum of single contributions";
    EXPECT_EQ(sum_of(shuffled), expected) << "permuted";
  } else {  // N4: float32 sums of micro-batches, and one rounding of each instead of one of each record
    const double rows = static_cast<double>(records.count), d = static_cast<double>(dim);
    const double allowed =
        rows * rows * std::ldexp(bound.clip * lattice.scale(), -23) + (rows + 1) * std::sqrt(d) / 2;
    double square = 0;
    for (std::size_t j = 0; j < dim; ++j) square += std::pow(static_cast<double>(total[j] - expected[j]), 2);
    EXPECT_LE(std::sqrt(square), allowed) << "sum of single contributions";
  }
}

/// Losses, scores and single contributions have the same bits alone, in any subset, in any order.
inline void check_row_invariance(const PropertyCase& c) {
  std::mt19937 bits(11);
  const Records& records = c.records;
  const AtPoint at = c.objective.at(c.w);
  std::vector<RecordBits> alone;
  for (std::uint32_t i = 0; i < records.count; ++i) alone.push_back(bits_of(c, at, records, std::span(&i, 1)));

  std::vector<std::uint32_t> order = all_rows(records);
  std::shuffle(order.begin(), order.end(), bits);
  const Records shuffled = permuted(records, order);
  const RecordBits whole = bits_of(c, at, shuffled, all_rows(records));
  for (std::size_t i = 0; i < order.size(); ++i)
    expect_record_bits(alone[order[i]], whole, i, "all rows, permuted");

  for (int trial = 0; trial < 3; ++trial) {
    std::vector<std::uint32_t> subset;
    for (std::uint32_t i : all_rows(records))
      if (bits() % 3 != 0) subset.push_back(i);
    const RecordBits some = bits_of(c, at, records, subset);
    for (std::size_t i = 0; i < subset.size(); ++i) expect_record_bits(alone[subset[i]], some, i, "a subset");
  }

  check_kernel_rows(c, clipped_gradients(c.objective, c.w), c.objective.gradients()->gradient_slack(), shuffled,
                    bits);
  const std::vector<float> v = moved(c.w, 0.1);
  if (c.differences) check_kernel_rows(c, c.differences->at(c.w, v), c.differences->slack, shuffled, bits);
}

/// Empty slots and records with non-finite features, labels or parameters contribute exactly nothing, and disturb
/// nobody.
inline void check_bad_records(const PropertyCase& c) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  Records bad = c.records, without = c.records;
  std::vector<std::size_t> spoiled;
  for (std::size_t i = 0; i < bad.count; i += 3) {
    bool done = true;
    switch (i / 3 % 5) {
      case 0:
        empty_slot(bad, i);
        break;
      case 1:
        done = spoil_feature(bad, i, nan);
        break;
      case 2:
        done = spoil_feature(bad, i, inf);
        break;
      case 3:
        done = spoil_feature(bad, i, -inf);
        break;
      case 4:
        bad.label[i] = nan;
        break;
    }
    if (!done) continue;
    spoiled.push_back(i);
    empty_slot(without, i);
  }
  ASSERT_GE(spoiled.size(), std::min<std::size_t>(bad.count, 4));
  const auto check = [&](const Kernel& kernel) {
    for (std::size_t i : spoiled)
      EXPECT_TRUE(all_zero(contribution(c.objective, kernel, bad, i, bound, lattice))) << "record " << i;
    EXPECT_EQ(contributions(c.objective, kernel, bad, all_rows(bad), bound, lattice),
              contributions(c.objective, kernel, without, all_rows(bad), bound, lattice));
  };
  check(clipped_gradients(c.objective, c.w));
  const std::vector<float> v = moved(c.w, 0.1);
  if (c.differences) check(c.differences->at(c.w, v));
  std::vector<float> broken = c.w;
  broken[broken.size() / 2] = nan;
  const Kernel at_broken = clipped_gradients(c.objective, broken);
  if (c.records.storage != Storage::sparse_f32) {  // a sparse row need not touch the broken coordinate
    EXPECT_TRUE(all_zero(contributions(c.objective, at_broken, c.records, all_rows(c.records), bound, lattice)))
        << "NaN parameter";
  }
}

}  // namespace dpmpi::test
