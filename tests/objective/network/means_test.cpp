// Clipped means of persons' gradients by a network's inner products, against gradients that are written out.
#include "objective/network/means.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "objective/network/mlp.hpp"
#include "objective/network/reference.hpp"
#include "support/lattice_distance.hpp"

namespace dpmpi::test::means_test {
namespace {

constexpr std::size_t counts[] = {1, 2, 3, 5, 0, 8, 16, 33, 64, 64, 1, 1, 4, 40, 24, 2};
constexpr std::size_t persons = std::size(counts);

/// Persons of a network's records: their slots follow `counts`.
struct World {
  MlpShape shape;
  Records records;
  std::unique_ptr<Objective> objective;
  std::vector<float> w;

  explicit World(MlpShape of, unsigned seed = 1, Storage storage = Storage::dense_f32) : shape(std::move(of)) {
    const LabelKind labels = labels_of(shape.head);
    records = random_records({storage, std::accumulate(std::begin(counts), std::end(counts), std::size_t{0}),
                              shape.units[0], shape.input_bias, labels, shape.units.back()},
                             seed);
    records.person_begin = {0};
    for (const std::size_t count : counts)
      records.person_begin.push_back(records.person_begin.back() + static_cast<std::uint32_t>(count));
    objective = make_mlp(shape);
    std::mt19937 bits(seed);
    std::normal_distribution<double> normal;
    for (std::size_t l = 0; l < shape.layers(); ++l)
      for (std::size_t j = 0; j < shape.parameters(l); ++j)
        w.push_back(static_cast<float>(normal(bits) / std::sqrt(static_cast<double>(shape.inputs(l) + 1))));
  }
  std::span<float> row(std::uint32_t i) {
    return std::span(records.f32).subspan(i * records.stride, shape.units[0]);
  }
  std::uint32_t begin(std::uint32_t person) const { return records.person_begin[person]; }
};

struct Part {
  std::vector<std::int64_t> sum;
  std::vector<std::uint32_t> left;
};

Lattice fine(double clip) { return test_lattice(clip, 26); }

Part part_of(World& world, const Records& records, std::vector<std::uint32_t> number, double clip,
             Clipping clipping = Clipping::flat) {
  LatticeAccumulator sum(world.objective->dim(), fine(clip), clip * 1.01, 0, Width::int64);
  sum.clear();
  const auto left = world.objective->at(world.w).add_clipped_means({records, number},
                                                                   {{MeanBound::room * clip, clipping}, clip}, sum);
  Part part{{}, {left.begin(), left.end()}};
  const auto total = sum.totals();
  part.sum.assign(total.begin(), total.end());
  return part;
}
Part part_of(World& world, std::uint32_t person, double clip) {
  return part_of(world, world.records, {person}, clip);
}

double length(const Part& part, double clip) {
  return distance(part.sum, std::vector<std::int64_t>(part.sum.size(), 0), fine(clip));
}
/// What a person may be longer than the clip by: rounding, of one float32 sum.
double most(const World& world, double clip) {
  const NumericSlack slack = world.objective->gradients()->gradient_slack();
  const double chain = static_cast<double>(slack.summed_rows + 2) * 0x1p-24;
  return clip * (1 + MeanBound::room * (slack.clip + chain)) +
         0.5 * std::sqrt(static_cast<double>(world.objective->dim())) * fine(clip).quantum();
}

/// The mean of the gradients, each clipped at 8 clips, clipped at `clip`.
std::vector<double> written_out(const World& world, std::uint32_t person, double clip) {
  const MlpReference reference(world.shape, world.records);
  const std::vector<double> w = widened(world.w);
  std::vector<double> mean(w.size(), 0.0), g(w.size());
  const auto shrink = [](std::vector<double>& v, double to) {
    const double norm = norm_of(v);
    for (double& x : v) x *= norm > to ? to / norm : 1;
  };
  const std::uint32_t first = world.begin(person), end = world.begin(person + 1);
  for (std::uint32_t i = first; i < end; ++i) {
    reference.gradient(i, w, g);
    shrink(g, 8 * clip);
    for (std::size_t j = 0; j < w.size(); ++j) mean[j] += g[j] / (end - first);
  }
  shrink(mean, clip);
  return mean;
}

std::vector<MlpShape> shapes() {
  return {{.units = {17, 1}, .head = Head::logistic},
          {.units = {20, 9, 1}, .activation = Activation::tanh, .head = Head::squared},
          {.units = {200, 300, 4}},
          {.units = {33, 24, 5}, .input_bias = 0, .activation = Activation::softplus}};
}

TEST(ClippedMeans, AreThoseOfGradientsThatAreWrittenOut) {
  for (const MlpShape& shape : shapes()) {
    World world(shape);
    for (const double clip : {0.01, 0.3, 1.0, 30.0})
      for (std::uint32_t p = 0; p < persons; ++p) {
        const Part part = part_of(world, p, clip);
        if (!part.left.empty()) {  // whose own gradient costs less than inner products
          EXPECT_TRUE(shape.units[0] != 200 && counts[p] > 4 && length(part, clip) == 0);
          continue;
        }
        EXPECT_LE(length(part, clip), most(world, clip));
        const std::vector<double> expected = written_out(world, p, clip);
        double square = 0;
        for (std::size_t j = 0; j < expected.size(); ++j)
          square += std::pow(static_cast<double>(part.sum[j]) * fine(clip).quantum() - expected[j], 2);
        EXPECT_LE(std::sqrt(square), 1e-3 * clip) << shape.units[0] << " inputs, person " << p << ", clip " << clip;
      }
  }
}

// Among persons who add nothing, in any place and in any portion, a person adds the same bits.
TEST(ClippedMeans, KnowOfOnePersonAlone) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    World world({.units = {90, 40, 20, 3}}, 2, storage);
    std::vector<std::uint32_t> everyone(persons);
    std::iota(everyone.begin(), everyone.end(), 0U);
    for (std::uint32_t p = 0; p < persons; ++p) {
      const Part alone = part_of(world, p, 0.5);
      Records others = world.records;
      for (std::uint32_t i = 0; i < others.count; ++i)
        if (i < world.begin(p) || i >= world.begin(p + 1)) empty_slot(others, i);
      EXPECT_EQ(part_of(world, others, everyone, 0.5).sum, alone.sum) << "person " << p;
      for (std::uint32_t from = 0; from <= p; ++from)
        EXPECT_EQ(part_of(world, others, {everyone.begin() + from, everyone.end()}, 0.5).sum, alone.sum);
    }
  }
}

// A record has the same bits as entries and as a row.
TEST(ClippedMeans, KnowNothingOfTheStorage) {
  for (const MlpShape& shape : shapes()) {
    World sparse(shape, 3, Storage::sparse_f32), dense(shape, 3);
    std::ranges::fill(dense.records.f32, 0.0F);
    for (std::uint32_t i = 0; i < dense.records.count; ++i)
      for (auto e = sparse.records.row_begin[i]; e < sparse.records.row_begin[i + 1]; ++e)
        dense.row(i)[sparse.records.column[e]] = sparse.records.value[e];
    dense.records.label = sparse.records.label;
    for (const double clip : {0.01, 0.3, 30.0})
      for (std::uint32_t p = 0; p < persons; ++p) {
        const Part a = part_of(sparse, p, clip), b = part_of(dense, p, clip);
        EXPECT_EQ(a.sum, b.sum) << "person " << p << ", clip " << clip;
        EXPECT_EQ(a.left, b.left);
      }
  }
}

// All that a person's records can be: the part is no longer than the clip, or the person is left to others.
TEST(ClippedMeans, AreNoLongerThanTheClipWhateverTheRecordsAre) {
  using Spoil = std::function<void(World&, std::uint32_t, std::uint32_t)>;  // record i of person p
  const auto scaled_by = [](double factor) {
    return Spoil([=](World& w, std::uint32_t i, std::uint32_t) {
      for (float& x : w.row(i)) x = static_cast<float>(factor * x);
    });
  };
  const auto copy_of_first = [](World& w, std::uint32_t i, std::uint32_t p) {
    if (i == w.begin(p)) return;
    std::ranges::copy(w.row(w.begin(p)), w.row(i).begin());
    w.records.label[i] = w.records.label[w.begin(p)];
  };
  const std::vector<Spoil> ways{
      copy_of_first,
      [&](World& w, std::uint32_t i, std::uint32_t p) {  // the same inputs, opposite labels, and slightly more
        copy_of_first(w, i, p);
        w.records.label[i] =
            (i % 2 == 0 ? 1.0F : -1.0F) *
            (w.shape.head == Head::logistic ? 1.0F : 1e3F + 0.01F * static_cast<float>(i - w.begin(p)));
      },
      scaled_by(0),
      scaled_by(1e-30),
      scaled_by(1e-42),
      scaled_by(1e3),
      scaled_by(1e15),
      scaled_by(1e18),
      scaled_by(1e30),
      [](World& w, std::uint32_t i, std::uint32_t p) {  // one record is alone
        if (i > w.begin(p)) std::ranges::fill(w.row(i), 0.0F);
      },
      [](World& w, std::uint32_t i, std::uint32_t) { w.row(i)[0] = (i % 2 == 0 ? 1.0F : -1.0F) * 1e19F; },
      [](World& w, std::uint32_t i, std::uint32_t p) {
        if ((i - w.begin(p)) % 3 == 1) w.row(i)[1] = std::numeric_limits<float>::infinity();
        if ((i - w.begin(p)) % 3 == 2) w.records.label[i] = std::numeric_limits<float>::quiet_NaN();
      }};
  std::size_t left = 0;
  for (std::size_t way = 0; way < ways.size(); ++way)
    for (const MlpShape& shape : {shapes()[0], MlpShape{.units = {60, 90, 1}, .head = Head::squared}})
      for (const double clip : {1e-6, 0.5, 1e3}) {
        World world(shape);
        for (std::uint32_t p = 0; p < persons; ++p)
          for (std::uint32_t i = world.begin(p); i < world.begin(p + 1); ++i) ways[way](world, i, p);
        for (std::uint32_t p = 0; p < persons; ++p)
          for (const Clipping clipping : {Clipping::flat, Clipping::per_layer}) {
            const Part part = part_of(world, world.records, {p}, clip, clipping);
            if (counts[p] <= 4) left += part.left.size();
            EXPECT_LE(length(part, clip), part.left.empty() ? most(world, clip) : 0)
                << "way " << way << ", layers " << shape.layers() << ", person " << p << ", clip " << clip;
          }
      }
  EXPECT_GT(left, 0U) << "records that are too large for float32";
}

TEST(ClippedMeans, CancelAndCountEqualRecordsOnce) {
  World world({.units = {60, 90, 1}, .activation = Activation::tanh, .head = Head::squared});
  const std::uint32_t once = 0, often = 6, pair = 1;
  for (std::uint32_t i = world.begin(often); i < world.begin(often + 1); ++i) {
    std::ranges::copy(world.row(world.begin(once)), world.row(i).begin());
    world.records.label[i] = world.records.label[world.begin(once)];
  }
  for (const double clip : {0.01, 100.0}) {
    const Part one = part_of(world, once, clip), many = part_of(world, often, clip);
    EXPECT_LE(distance(one.sum, many.sum, fine(clip)), 1e-4 * std::min(clip, 30.0));
  }
  // A pair about the prediction.
  const std::uint32_t first = world.begin(pair);
  std::ranges::copy(world.row(first), world.row(first + 1).begin());
  float score = 0;
  const std::uint32_t index[] = {first};
  world.objective->at(world.w).scores({world.records, index}, std::span(&score, 1));
  world.records.label[first] = score + 4, world.records.label[first + 1] = score - 4;
  EXPECT_LE(length(part_of(world, pair, 0.5), 0.5), 1e-4);
}

}  // namespace
}  // namespace dpmpi::test::means_test
