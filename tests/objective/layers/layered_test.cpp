// A network of layers keeps the contract of kernels; what its description may say, and what is said of mistakes.
#include "objective/layers/layered.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/sequence.hpp"
#include "objective/objective_property.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::layered_test {
namespace {

struct LayeredCase {
  const char* name;
  Volume in;
  const char* layers;
  Head head = Head::softmax;
  std::size_t outputs = 3;
  Storage storage = Storage::dense_f32;
  bool smooth = true;
  ClassWeights weights = {};
  const char* trained = "";
};
std::ostream& operator<<(std::ostream& out, const LayeredCase& c) { return out << c.name; }

/// Numbers of the whole network. Those of adapters are not 0.
std::vector<float> start_of(const LayerPlans& plans, const LayeredCase& c) {
  const Sequence<float> network(plans, c.in);
  std::vector<float> numbers(network.parameters()), normals(numbers.size());
  PublicStream(3, "initialise").normals(0, normals);
  numbers = normals;
  network.initialise(numbers, false);
  for (const ParameterGroup& group : network.groups())
    if (group.name.ends_with("adapter_up"))
      std::copy_n(normals.begin() + static_cast<std::ptrdiff_t>(group.offset), group.size(),
                  numbers.begin() + static_cast<std::ptrdiff_t>(group.offset));
  return numbers;
}

class LayeredNetworks : public testing::TestWithParam<LayeredCase> {};

TEST_P(LayeredNetworks, KeepTheContract) {
  const LayeredCase& c = GetParam();
  std::vector<std::string> problems;
  const LayerPlans plans = read_layers(c.layers, problems);
  const TrainedLayers trained(c.trained, plans.size(), problems);
  const auto objective = make_layered({plans, c.in, trained}, c.head, c.outputs, c.weights);
  ASSERT_TRUE(problems.empty()) << problems.front();
  const Records records = random_records({.storage = c.storage,
                                          .count = 37,
                                          .features = c.in.size(),
                                          .labels = labels_of(c.head),
                                          .classes = objective->classes()});
  std::vector<float> w(objective->dim());
  objective->start_from(start_of(plans, c));
  objective->start_point(PublicStream(0, "not used"), w);
  PropertyCase property{.objective = *objective,
                        .records = records,
                        .w = w,
                        .smooth = c.smooth,
                        .tolerance = 1e-5,
                        .clippings = {Clipping::flat, Clipping::per_layer}};
  check_norm_bounds(property);
  check_row_invariance(property);
  check_bad_records(property);
  check_regularizer_stays_out(property);
  check_parts(property);
  check_points_are_replaced(property);
  check_no_allocation(property);
  check_gradient_norms(property);
  if (c.smooth) check_finite_differences(property);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, LayeredNetworks,
    testing::Values(
        LayeredCase{"one_layer", {17, 1, 1}, "dense 3"},
        LayeredCase{"perceptron", {17, 1, 1}, "dense 9, tanh, dense 1", Head::logistic, 1, Storage::sparse_f32},
        LayeredCase{"image",
                    {1, 8, 8},
                    "conv 4 3x3 stride 2 pad 1, relu, maxpool 2, flatten, dense 3",
                    Head::softmax,
                    3,
                    Storage::dense_u8,
                    false},
        LayeredCase{"three_colours", {3, 6, 6}, "conv 16 3x3, tanh, avgpool 2, flatten, dense 3"},
        LayeredCase{"groups_of_channels",
                    {4, 5, 5},
                    "conv 8 3x3 groups 2, tanh, conv 8 3x3 pad 1 groups 8, softplus, flatten, dense 3"},
        LayeredCase{"standardised",
                    {2, 5, 5},
                    "conv 4 3x3 standardised, tanh, conv 4 3 pad 1 groups 2 standardised, softplus, "
                    "flatten, dense 6 standardised, tanh, dense 3"},
        LayeredCase{"dropout",
                    {2, 5, 5},
                    "conv 4 3x3, tanh, dropout 0.3, residual(conv 4 1, dropout 0.1), flatten, dense 3",
                    Head::softmax,
                    3,
                    Storage::dense_f32,
                    false},
        LayeredCase{"embedding", {11, 1, 1}, "embedding 4 of 2-5 7-10, dense 5, tanh, dense 3"},
        LayeredCase{"embedding_of_sparse_rows",
                    {11, 1, 1},
                    "embedding 2 of 2-5 7-10, dense 5, tanh, dense 1",
                    Head::logistic,
                    1,
                    Storage::sparse_f32},
        LayeredCase{"adapters",
                    {2, 5, 5},
                    "conv 4 3x3 adapter 1, tanh, conv 4 3 pad 1 groups 2 standardised adapter 2, softplus, "
                    "flatten, residual(dense 36 adapter 2), dense 8 adapter 1, tanh, dense 3",
                    Head::softmax,
                    3,
                    Storage::dense_f32,
                    true,
                    {},
                    "from 3"},
        LayeredCase{"residual",
                    {2, 5, 5},
                    "conv 4 3x3, groupnorm 2, residual(conv 4 3x3 pad 1, "
                    "softplus, layernorm), flatten, dense 1",
                    Head::squared,
                    1},
        LayeredCase{"weighted",
                    {1, 4, 4},
                    "conv 3 2x2, gelu, flatten, dense 3",
                    Head::softmax,
                    3,
                    Storage::dense_f32,
                    true,
                    ClassWeights({1, 13, 0.25})},
        LayeredCase{"partly_trained",
                    {2, 5, 5},
                    "conv 4 3x3, tanh, groupnorm 2, conv 4 2x2, softplus, flatten, dense 3",
                    Head::softmax,
                    3,
                    Storage::dense_f32,
                    true,
                    {},
                    "3,7"}),
    [](const auto& test) { return std::string(test.param.name); });

// Pairs of losses are those at points in double, whatever float32 makes of them.
TEST(LayeredProbes, AreLossesNearBothPoints) {
  std::vector<std::string> problems;
  const auto network =
      make_layered({read_layers("conv 3 2x2, tanh, flatten, dense 3", problems), {2, 3, 3}}, Head::softmax, 3);
  const Records records = random_records({.count = 4, .features = 18, .labels = LabelKind::class_, .classes = 3});
  std::vector<float> start(network->dim());
  network->initialise(PublicStream(3, "initialise"), start);
  std::vector<double> x = widened(start), y = x;
  for (double& value : y) value += 0.5;
  AlignedVector<double> u(2 * round_up(x.size(), 8), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) u[j] = j % 3 == 0 ? 1 : -0.5, u[round_up(x.size(), 8) + j] = 0.25;
  const DirectionTile tile{u.data(), 0, 2, round_up(x.size(), 8)};
  const std::uint32_t one[] = {2};
  const Rows row{records, one};
  const auto loss = [&](const std::vector<double>& at, double step, std::size_t j) {
    std::vector<float> w(at.size());
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<float>(at[k] + step * tile.row(j)[k]);
    return loss_of(*network, w, records, 2);
  };
  std::vector<double> up(2), down(2);
  network->probes(x, y).probe(row, 0.125, tile, up, down);
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(up[j], loss(x, 0.125, j), 1e-5);
    EXPECT_NEAR(down[j], loss(y, 0.125, j), 1e-5);
  }
  network->probes(x, {}).probe(row, 1e-9, tile, up, down);
  const std::vector<double> gradient = gradient_of(*network, start, records, 2);
  for (std::size_t j = 0; j < 2; ++j) {
    double slope = 0;
    for (std::size_t k = 0; k < x.size(); ++k) slope += gradient[k] * tile.row(j)[k];
    EXPECT_NEAR((up[j] - down[j]) / 2e-9, slope, 1e-4) << "steps that float32 would not see";
  }
}

// What is not trained has no part in the gradient, and the rest of it is the same, up to the lattice.
TEST(TrainedLayers, HaveTheirPartOfTheGradient) {
  const LayeredCase c{
      "",
      {2, 5, 5},
      "conv 4 3x3, tanh, groupnorm 2, residual(conv 4 3x3 pad 1, softplus), flatten, dense 5, tanh, dense 3"};
  std::vector<std::string> problems;
  const LayerPlans plans = read_layers(c.layers, problems);
  const auto whole = make_layered({plans, c.in}, c.head, c.outputs);
  const std::vector<float> numbers = start_of(plans, c);
  const Records records = random_records({.count = 5, .features = 50, .labels = LabelKind::class_, .classes = 3});
  for (const char* const trained : {"", "from 1", "from 6", "from 8", "3,6", "4", " 1 , 8 "}) {
    const auto part =
        make_layered({plans, c.in, TrainedLayers(trained, plans.size(), problems)}, c.head, c.outputs);
    ASSERT_TRUE(problems.empty()) << problems.front();
    std::vector<float> w(part->dim());
    part->start_from(numbers);
    part->start_point(PublicStream(9, "not used"), w);
    const auto model = part->model(w);
    EXPECT_EQ(std::vector<float>(model.begin(), model.end()), numbers);
    EXPECT_EQ(part->model_groups().size(), whole->groups().size());
    EXPECT_EQ(loss_of(*part, w, records, 2), loss_of(*whole, numbers, records, 2));
    const std::vector<double> all = gradient_of(*whole, numbers, records, 2),
                              own = gradient_of(*part, w, records, 2);
    std::size_t found = 0;
    for (const ParameterGroup& group : part->groups())
      for (const ParameterGroup& same : whole->groups()) {
        if (same.name != group.name) continue;
        ++found;
        for (std::size_t j = 0; j < group.size(); ++j)
          ASSERT_NEAR(own[group.offset + j], all[same.offset + j], 1e-6) << trained;
      }
    EXPECT_EQ(found, part->groups().size());
    EXPECT_EQ(own.size(), part->dim());
    for (float& x : w) x += 1;
    const auto moved = part->model(w);
    std::size_t changed = 0;
    for (std::size_t j = 0; j < numbers.size(); ++j) changed += moved[j] != numbers[j];
    EXPECT_EQ(changed, part->dim()) << "the others stay: " << trained;
  }
}

TEST(TrainedLayers, MistakesAreTold) {
  const auto told = [](const char* trained) {
    std::vector<std::string> problems;
    TrainedLayers(trained, 3, problems);
    return problems.empty() ? std::string() : problems.front();
  };
  for (const char* const right : {"", "1", "3,2", "from 2", " from  3 "}) EXPECT_EQ(told(right), "");
  for (const char* const wrong : {"0", "4", "1,", "from 4", "from", "dense", "1 2", "-1", "from 1,2"})
    EXPECT_MENTIONS(told(wrong), "it takes numbers of layers from 1 to 3, as 8,10, or from 8");
  std::vector<std::string> problems;
  const LayerPlans plans = read_layers("dense 4, tanh, dense 3", problems);
  EXPECT_MENTIONS(message_of<ConfigError>([&] {
                    make_layered({plans, {2, 1, 1}, TrainedLayers("2", 3, problems)}, Head::softmax, 3);
                  }),
                  "the layers of objective.train_layers have no parameters");
}

/// All that is wrong with a list of layers, line after line.
std::string problems_of(std::string_view layers) {
  std::vector<std::string> problems;
  read_layers(layers, problems);
  std::string all;
  for (const std::string& problem : problems) all += problem + "\n";
  return all;
}

TEST(LayerDescription, EveryMistakeIsToldByItsPlace) {
  EXPECT_EQ(problems_of("conv 16 3x3 pad 1,relu ,  residual( conv 16 1, "
                        "residual(tanh) ), flatten, dense 10"),
            "");
  const std::string all = problems_of(
      "conf 3, conv, conv 3 3y3, conv 3 3 stride 0, dense -1, "
      "dense 3 4, maxpool 2x3, ,"
      "residual(tanh, dens 3), batchnorm, conv 2 3 pad 3, "
      "relu(tanh), flatten), dense 1e3, conv 6 3 groups 4, conv 6 3 groups 0, conv 6 3 groups 2 pad 1, "
      "conv 3 3 standardised groups 3, dense 3 standardized, embedding 3, embedding 3 of, "
      "embedding 2 of 3-1, embedding 2 of 1-3 3-4, embedding 2 of 1-3 x");
  for (const char* said :
       {"layer 1 (conf 3): there is no such layer; there are: dense, conv, "
        "maxpool",
        "layer 2 (conv): the number of channels is missing; it is written conv "
        "CHANNELS HEIGHTxWIDTH [stride S] [pad P]",
        "layer 3 (conv 3 3y3): the window is 3y3; it takes HEIGHTxWIDTH",
        "layer 4 (conv 3 3 stride 0): stride is 0",
        "layer 5 (dense -1): the number of units is -1",
        "layer 6 (dense 3 4): 4 is not expected there",
        "layer 7 (maxpool 2x3): a window of 2x3 needs a stride",
        "layer 8 (nothing): there is no such layer",
        "layer 9.2 (dens 3): there is no such layer",
        "layer 10 (batchnorm): normalisation across a batch would let",
        "layer 11 (conv 2 3 pad 3): pad is 3; in front of a window of 3x3 it "
        "takes at most 2",
        "layer 12 (relu(tanh)): it takes no layers in parentheses",
        "layer 13 (flatten)): a parenthesis is closed",
        "layer 14 (dense 1e3): the number of units is 1e3",
        "layer 15 (conv 6 3 groups 4): 6 channels cannot be divided into 4 equal groups; it is written conv",
        "layer 16 (conv 6 3 groups 0): groups is 0; it takes a whole number from 1",
        "layer 17 (conv 6 3 groups 2 pad 1): pad is not expected there",
        "layer 18 (conv 3 3 standardised groups 3): groups is not expected there",
        "layer 19 (dense 3 standardized): standardized is not expected there",
        "layer 20 (embedding 3): of is missing; it is written embedding SIZE of FIRST-LAST",
        "layer 21 (embedding 3 of): the columns are missing",
        "layer 22 (embedding 2 of 3-1): the column is 3-1; it takes FIRST-LAST",
        "layer 23 (embedding 2 of 1-3 3-4): the column 3-4 begins before feature 4: columns ascend, and share no",
        "layer 24 (embedding 2 of 1-3 x): the column is x; it takes FIRST-LAST"})
    EXPECT_NE(all.find(said), all.npos) << said << "\nin\n" << all;
  EXPECT_NE(problems_of("residual(dense 3").find("its parentheses are not closed"), std::string::npos);
  EXPECT_NE(problems_of("residual").find("it takes layers in parentheses"), std::string::npos);
  EXPECT_NE(problems_of(std::string(20, '(')).find("layer 1"), std::string::npos);
}

TEST(LayerDescription, LayersThatDoNotFitAreRefused) {
  const auto refused = [](const char* layers, const Volume& in = {1, 4, 4}) {
    std::vector<std::string> problems;
    return message_of<ConfigError>([&] { make_layered({read_layers(layers, problems), in}, Head::softmax, 3); });
  };
  std::vector<std::string> none;
  EXPECT_NO_THROW(make_layered({read_layers("flatten, dense 3", none), {1, 4, 4}}, Head::softmax, 3));
  EXPECT_MENTIONS(refused("conv 2 5x5, flatten, dense 3"),
                  "layer 1 (conv 2 5x5): a window of 5x5 is larger than an image of 4x4");
  EXPECT_MENTIONS(refused("conv 2 3, dense 3"),
                  "layer 2 (dense 3): it takes a list of numbers, and there "
                  "are 2 channels of 2x2");
  EXPECT_MENTIONS(refused("conv 6 3, conv 8 1 groups 4"),
                  "layer 2 (conv 8 1 groups 4): 6 channels come in, which cannot be divided into 4 equal groups");
  EXPECT_MENTIONS(refused("conv 2 3, conv 2 1 groups 2 standardised"),
                  "layer 2 (conv 2 1 groups 2 standardised): each output has a single weight");
  EXPECT_MENTIONS(refused("conv 3 3, embedding 2 of 1-2"),
                  "layer 2 (embedding 2 of 1-2): it takes a list of numbers");
  EXPECT_MENTIONS(refused("flatten, embedding 2 of 1-2 4-17"), "a column ends at feature 17, and there are 16");
  EXPECT_MENTIONS(refused("flatten, dense 4 adapter 4"),
                  "layer 2 (dense 4 adapter 4): an adapter of rank 4 has no fewer numbers than the 16x4 weights");
  EXPECT_MENTIONS(refused("conv 3 3, groupnorm 2"),
                  "layer 2 (groupnorm 2): 3 channels cannot be divided into 2 "
                  "equal groups");
  EXPECT_MENTIONS(refused("residual(conv 1 3), flatten, dense 3"), "cannot be added to what comes out, 1 of 2x2");
  EXPECT_MENTIONS(refused("residual(relu, conv 1 5)"), "layer 1.2 (conv 1 5): a window of 5x5");
  EXPECT_MENTIONS(refused("residual(relu, residual(conv 2 3 pad 1, groupnorm 7))"), "layer 1.2.2 (groupnorm 7): ");
  EXPECT_MENTIONS(refused("flatten, dense 4"), "gives 4 channels of 1x1 where the loss takes 3 numbers");
  EXPECT_MENTIONS(refused("flatten", {3, 1, 1}), "no layer has parameters");
}

// Before anything of that size is made, and however large the numbers are.
TEST(LayerDescription, LayersThatDoNotFitInMemoryAreRefused) {
  const auto refused = [](const char* layers, const Volume& in) {
    std::vector<std::string> problems;
    return message_of<ConfigError>([&] { make_layered({read_layers(layers, problems), in}, Head::softmax, 2); });
  };
  EXPECT_MENTIONS(refused("dense 1000000, dense 1000000, dense 2", {2, 1, 1}), "GB are free: make them smaller");
  EXPECT_MENTIONS(
      refused("conv 524288 1, conv 128 524288x524288 stride 4096 pad 524287, flatten, dense 2", {2, 1, 1}),
      "GB are free");
  EXPECT_MENTIONS(refused("conv 2 1000x1000 stride 1, flatten, dense 2", {3, 3000, 3000}), "GB are free");
  EXPECT_MENTIONS(refused("conv 1000000 1, flatten, dense 2", {1, 1000000, 1000000}), "more than 10^12 numbers");
  EXPECT_MENTIONS(refused("conv 1000000 999999 pad 999998, conv 1000000 1", {1, 1000000, 1000000}),
                  "layer 1 (conv 1000000 999999 pad 999998): what comes out are more than 10^12 numbers");
  EXPECT_MENTIONS(refused("residual(dense 1000000, dense 1000000, dense 2), dense 2", {2, 1, 1}), "GB are free");
}

TEST(LayerDescription, PlansShowEveryLayer) {
  std::vector<std::string> problems;
  const auto network = make_layered(
      {read_layers("conv  4 3x3 pad 1,relu, conv 4 3 pad 1  groups 4, conv 2 1 groups 2, flatten,dense 3",
                   problems),
       {2, 4, 4}},
      Head::softmax, 3);
  const auto lines = network->structure();
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "conv 4 3x3 pad 1: 4x4x4, 76 parameters, 1152 products");
  EXPECT_EQ(lines[1], "relu: 4x4x4");
  EXPECT_EQ(lines[2], "conv 4 3 pad 1 groups 4: 4x4x4, 40 parameters, 576 products");
  EXPECT_EQ(lines[3], "conv 2 1 groups 2: 2x4x4, 6 parameters, 64 products");
  EXPECT_EQ(lines[4], "flatten: 32");
  EXPECT_EQ(lines[5], "dense 3: 3, 99 parameters, 96 products");
  EXPECT_EQ(network->dim(), 76U + 40U + 6U + 99U);
}

TEST(LayerDescription, Volumes) {
  std::vector<std::string> problems;
  EXPECT_EQ(read_volume("3x32x16", problems), (Volume{3, 32, 16}));
  EXPECT_EQ(read_volume("57", problems), (Volume{57, 1, 1}));
  EXPECT_TRUE(problems.empty());
  for (const char* bad :
       {"", "3x32", "3x0x3", "x3x3", "3x3x3x3", "3x3x3 ", "-1", "3x3xa", "99999999999999999999"}) {
    problems.clear();
    read_volume(bad, problems);
    EXPECT_EQ(problems.size(), 1U) << bad;
  }
}

}  // namespace
}  // namespace dpmpi::test::layered_test
