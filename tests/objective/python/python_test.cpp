#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/math/directions.hpp"
#include "objective/objective_property.hpp"
#include "objective/plugin/library.hpp"
#include "objective/values/clipped_losses.hpp"
#include "objective/values/loss_table.hpp"
#include "objective/values/paired_losses.hpp"
#include "objective/values/projected_differences.hpp"
#include "support/process.hpp"
#include "support/python_host.hpp"

namespace dpmpi::test::python_test {
namespace {

constexpr ObjectiveFacts facts{6, Storage::dense_f32, 1};

std::unique_ptr<ObjectiveEntry::Builder> builder_of(const std::string& objective, Settings settings) {
  for (const ObjectiveEntry& entry : objectives()) {
    if (entry.name != objective) continue;
    auto builder = entry.builder();
    Options options("objective");
    builder->declare(options);
    std::vector<std::string> problems;
    options.read(settings, problems);
    EXPECT_TRUE(problems.empty());
    return builder;
  }
  return nullptr;
}

/// A module with this text, in a file of its own.
std::unique_ptr<ObjectiveEntry::Builder> module_of(const std::string& text, const std::string& parameters = "") {
  static int number = 0;
  const std::string path = fmt::format("{}dpmpi_losses_{}.py", testing::TempDir(), ++number);
  std::ofstream(path) << text;
  return builder_of("python",
                    {{"objective.module", {path, "test"}}, {"objective.parameters", {parameters, "test"}}});
}

/// With what every module needs, and these lines.
std::string with_dim(const std::string& lines) {
  return "import numpy as np\nbatch = 16\ndef dim(columns):\n    return columns\n" + lines;
}
const std::string plain = "def losses(w, X, y):\n    return (X.astype(np.float64) * w).sum(1) - y\n";

/// The message of the error that making an objective of the module throws.
template <class Kind = Error>
std::string refusal(const std::string& text, const std::string& parameters = "") {
  try {
    module_of(text, parameters)->make(facts);
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

bool says(const std::string& message, const std::string& words) { return message.find(words) != message.npos; }

std::vector<double> losses_of(Objective& objective, const Records& records, const std::vector<float>& w) {
  const auto index = all_rows(records);
  std::vector<double> losses;
  for (std::size_t first = 0; first < index.size(); first += 16) {
    const std::size_t count = std::min<std::size_t>(16, index.size() - first);
    std::vector<double> some(count);
    objective.at(w).losses({records, std::span(index).subspan(first, count)}, some);
    losses.insert(losses.end(), some.begin(), some.end());
  }
  return losses;
}

class WithPython : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_python_host()) GTEST_SKIP() << "there is no libdpmpi_python.so beside this program";
  }
};
class PythonLosses : public WithPython {};
class PythonTrial : public WithPython {};
class PythonModule : public WithPython {};

TEST_F(PythonLosses, AreThoseOfTheSamePluginBitForBit) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    Records records = random_records({.storage = storage, .count = 53, .features = 6, .labels = LabelKind::real});
    empty_slot(records, 4);
    ASSERT_TRUE(spoil_feature(records, 8, std::numeric_limits<float>::infinity()));
    const std::string module = DPMPI_SOURCE_DIR "/examples/python/pinball.py";
    const auto python =
        builder_of("python", {{"objective.module", {module, "test"}}, {"objective.parameters", {"0.9", "test"}}})
            ->make({6, storage, 1});
    const auto c = builder_of("plugin", {{"objective.library", {DPMPI_PINBALL_PLUGIN, "test"}},
                                         {"objective.parameters", {"quantile=0.9", "test"}}})
                       ->make({6, storage, 1});
    ASSERT_EQ(python->dim(), c->dim());
    EXPECT_EQ(python->label_kind(), c->label_kind());
    const std::vector<float> w = {0.1F, -0.2F, 0.3F, 0.5F, -0.7F, 0.2F, 0.4F};
    const auto by_python = losses_of(*python, records, w), by_c = losses_of(*c, records, w);
    for (std::size_t i = 0; i < records.count; ++i) {
      if (i == 4 || i == 8)
        EXPECT_TRUE(std::isnan(by_python[i])) << "a record that does not count";
      else
        EXPECT_EQ(by_python[i], by_c[i]) << i;
    }
  }
}

TEST_F(PythonLosses, ScoresAndClassesAreThoseOfTheModule) {
  const auto builder =
      module_of(with_dim("labels = 'class'\nclasses = 3\n"
                         "def losses(w, X, y):\n"
                         "    assert y.dtype == np.int64\n"
                         "    return y * np.float64(w[0])\n"
                         "def scores(w, X):\n"
                         "    return np.stack([X[:, 0], X[:, 1], X[:, 2]], 1) * w[0]\n"));
  EXPECT_EQ(builder->label_kind(), LabelKind::class_);
  EXPECT_EQ(builder->classes(), 3U);
  const auto objective = builder->make(facts);
  EXPECT_EQ(objective->outputs(), 3U);
  EXPECT_EQ(objective->gradients(), nullptr);
  const Records records = random_records({.count = 5, .features = 6, .labels = LabelKind::class_, .classes = 3});
  const std::vector<float> w(7, 2);
  const auto losses = losses_of(*objective, records, w);
  std::vector<float> scores(15);
  const auto index = all_rows(records);
  objective->at(w).scores({records, index}, scores);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(losses[i], 2 * records.label[i]);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(scores[3 * i + k], 2 * feature(records, i, k));
  }
}

// zo-o2nc asks for one record at all points of a tile.
TEST_F(PythonLosses, OfManyPointsAreThoseOfOneAfterTheOther) {
  const std::string by_one = with_dim(plain);
  const std::string together = by_one +
                               "def losses_at(points, X, y):\n"
                               "    return np.stack([losses(w, X, y) for w in points])\n";
  const auto one = module_of(by_one)->make(facts), many = module_of(together)->make(facts);
  EXPECT_EQ(one->pairs(), nullptr);
  ASSERT_NE(many->pairs(), nullptr);
  Records records = random_records({.count = 4, .features = 6, .labels = LabelKind::real});
  empty_slot(records, 2);
  const std::vector<double> x = {0.1, -0.2, 0.3, 0.5, -0.7, 0.2, 0.4}, y = {0.2, -0.1, 0.3, 0.4, -0.7, 0.2, 0.1};
  Directions directions(DirectionScheme::iid, 7, 5, 1, 1);
  const DirectionTile tile = directions.tile(0, 0, 0);
  for (const bool pair : {false, true}) {
    const std::span<const double> other = pair ? std::span<const double>(y) : std::span<const double>();
    PairedLosses losses(*one), same(*many);
    losses.prepare(x, other), same.prepare(x, other);
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::vector<double> up(5), down(5), same_up(5), same_down(5);
      losses.probe({records, {&i, 1}}, 0.5, tile, up, down);
      same.probe({records, {&i, 1}}, 0.5, tile, same_up, same_down);
      for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_EQ(std::isnan(same_up[j]), i == 2);
        if (i == 2) continue;
        EXPECT_EQ(up[j], same_up[j]);
        EXPECT_EQ(down[j], same_down[j]);
      }
    }
  }
}

/// What objectives without and with losses_at add of records: along directions, at points of a search, in a table.
std::vector<std::vector<std::int64_t>> sums_of(Objective& objective, const Records& records) {
  constexpr std::size_t K = 3;
  const std::vector<double> x = {0.1, -0.2, 0.3, 0.5, -0.7, 0.2, 0.4};
  Frames frames(DirectionLaw::stiefel, 7, K, 5);
  frames.begin(0);
  ProjectedDifferences differences(objective, frames, {.radius = 0.1});
  ClippedLosses losses(objective, K, 5);
  for (std::size_t j = 0; j < K; ++j) losses.point(j)[j] = 0.5F;
  LossTable table(objective, {});
  std::vector<double> points(x), map(3 * K, 0.25);
  for (std::size_t j = 0; j < 14; ++j) points.push_back(0.1 * static_cast<double>(j));
  const auto index = all_rows(records);
  std::vector<std::vector<std::int64_t>> sums;
  for (const Kernel& kernel : {differences.kernel(x), losses.sum(),
                               table.kernel(points, 0, [&] { return std::span<const double>(map); })}) {
    LatticeAccumulator sum(K, Lattice{20}, 16, 0, Width::int64);
    sum.clear();
    kernel.run({.clip = 10}, sum, [&](const auto& visit) {
      visit(Rows{records, std::span(index).first(16)});
      visit(Rows{records, std::span(index).subspan(16)});
    });
    sums.emplace_back(sum.totals().begin(), sum.totals().end());
  }
  return sums;
}

// For zo-hidden, random-search and gibo: all points of a step in one call, and the same bits.
TEST_F(PythonLosses, OfManyPointsServeAllMethods) {
  const std::string together =
      plain + "def losses_at(points, X, y):\n    return np.stack([losses(w, X, y) for w in points])\n";
  Records records = random_records({.count = 21, .features = 6, .labels = LabelKind::real});
  empty_slot(records, 2);
  const auto one = module_of(with_dim(plain))->make(facts), many = module_of(with_dim(together))->make(facts);
  EXPECT_EQ(one->together(), nullptr);
  ASSERT_NE(many->together(), nullptr);
  EXPECT_TRUE(many->together()->points_are_apart());
  EXPECT_EQ(sums_of(*one, records), sums_of(*many, records));
  // What loses bits in company is used where a step always has as many points.
  const auto rough =
      module_of(with_dim(plain + "def losses_at(points, X, y):\n"
                                 "    return np.stack([losses(w, X, y) for w in points]) * (1 + 1e-15 * "
                                 "len(points))\n"))
          ->make(facts);
  EXPECT_FALSE(rough->together()->points_are_apart());
}

TEST_F(PythonTrial, TriesLossesAtManyPointsToo) {
  const std::string other = refusal<ConfigError>(with_dim(
      plain + "def losses_at(points, X, y):\n    return np.stack([1 + losses(w, X, y) for w in points])\n"));
  EXPECT_TRUE(says(other, "by losses and ")) << other;
  const std::string mean = refusal<PrivacyError>(
      with_dim(plain + "def losses_at(points, X, y):\n"
                       "    return np.stack([losses(w, X, y) + np.arange(16) * 1e-9 for w in points])\n"));
  EXPECT_TRUE(says(mean, "depends on the records beside it")) << mean;
  const std::string shape =
      refusal<ConfigError>(with_dim(plain + "def losses_at(points, X, y):\n    return losses(points[0], X, y)\n"));
  EXPECT_TRUE(says(shape, "losses_at returned an array of float64 and shape (16,)")) << shape;
}

// What breaks the guarantee is found on made-up records, and the message has the record's place.
TEST_F(PythonTrial, RefusesLossesThatDependOnNeighbours) {
  const std::string mean = refusal<PrivacyError>(
      with_dim("def losses(w, X, y):\n    r = X @ w\n    return (r - r.mean()).astype(np.float64)\n"));
  EXPECT_TRUE(says(mean, "the loss of synthetic record ")) << mean;
  const std::string before = refusal<PrivacyError>(
      with_dim("def losses(w, X, y):\n    r = X[:, 0].astype(np.float64)\n    return r + np.roll(r, 1)\n"));
  EXPECT_TRUE(says(before, "record 1 of 16 depends on the records beside it")) << before;
  const std::string place =
      refusal<PrivacyError>(with_dim("def losses(w, X, y):\n    return X[:, 0] + np.arange(16.0)\n"));
  EXPECT_TRUE(says(place, "depends on the records beside it")) << place;
}

TEST_F(PythonTrial, RefusesLossesThatRemember) {
  const std::string count = refusal<PrivacyError>(
      with_dim("n = 0\ndef losses(w, X, y):\n    global n\n    n += 1\n    return X[:, 0] + float(n)\n"));
  EXPECT_TRUE(says(count, "record 1 of 16 differs when it is asked for twice")) << count;
  const std::string random =
      refusal<PrivacyError>(with_dim("def losses(w, X, y):\n    return np.random.randn(16)\n"));
  EXPECT_TRUE(says(random, "asked for twice")) << random;
  const std::string cache = refusal<PrivacyError>(
      with_dim("seen = {}\ndef losses(w, X, y):\n    return np.array([seen.setdefault(len(X), w[0] + 0.0)] * 16)\n"
               "def synthetic(count, columns):\n    return np.ones((count, columns)), np.ones(count)\n"));
  EXPECT_EQ(cache, "no error") << "this one always returns its first loss, which is one of parameters and record";
  const std::string keeps = refusal<ConfigError>(
      with_dim("kept = []\ndef losses(w, X, y):\n    kept.append(X)\n    return X[:, 0] * 1.0\n"));
  EXPECT_TRUE(says(keeps, "losses keeps one of its arrays after the call")) << keeps;
}

TEST_F(PythonTrial, NeedsRecordsWithALoss) {
  const std::string of_logs = "def losses(w, X, y):\n    return np.log(-np.abs(X[:, 0]) - 1)\n";
  EXPECT_TRUE(says(refusal<ConfigError>(with_dim(of_logs)), "of 16 synthetic records 0 have a finite loss"));
  const std::string own =
      "def losses(w, X, y):\n    return np.log(X[:, 0] - 4)\n"
      "def synthetic(count, columns):\n"
      "    return 5 + np.arange(count * columns).reshape(count, columns), np.zeros(count)\n";
  EXPECT_EQ(refusal(with_dim(own)), "no error");
  EXPECT_TRUE(
      says(refusal(with_dim(plain + "def synthetic(count, columns):\n    return np.ones((count, columns))\n")),
           "synthetic returned something else than (X, y) of shapes (16, 7) and (16,)"));
}

TEST_F(PythonModule, MessagesNameModuleLineAndReason) {
  EXPECT_TRUE(says(refusal("import numpy\n\n1 / 0\n"), "line 3: ZeroDivisionError: division by zero"));
  EXPECT_TRUE(says(refusal("def dim(:\n"), "SyntaxError"));
  EXPECT_TRUE(says(refusal(with_dim(plain) + std::string("\0import os\n", 11)), "no text: it holds a zero byte"));
  EXPECT_TRUE(says(refusal("def dim(columns):\n    return 1\n"), "it has no function losses"));
  EXPECT_TRUE(says(refusal("dim = 3\ndef losses(w, X, y):\n    return X\n"), "dim is no function"));
  EXPECT_TRUE(
      says(refusal("def dim(columns):\n    return 0\n" + plain), "dim returned 0, allowed: a whole number"));
  for (const char* const number : {"10**30", "-10**30", "10**12 + 1", "True * 1.0", "'many'", "10**5000"})
    EXPECT_TRUE(says(refusal(std::string("def dim(columns):\n    return ") + number + "\n" + plain),
                     "allowed: a whole number from 1 to 10^12"))
        << number;
  EXPECT_TRUE(says(refusal("def dim(columns):\n    return 10**30\n" + plain),
                   "dim returned 1000000000000000000000000000000, allowed"));
  EXPECT_TRUE(says(refusal(with_dim("labels = 'count'\n" + plain)), "labels = \"count\", allowed: \"real\""));
  EXPECT_TRUE(says(refusal(with_dim("labels = 'class'\n" + plain)), "with classes = 0, allowed: two classes"));
  EXPECT_TRUE(says(refusal(with_dim("batch = 'all'\n" + plain)), "batch = 'all', allowed: a whole number"));
  EXPECT_TRUE(says(refusal(with_dim("import no_such_module\n" + plain)), "ModuleNotFoundError"));
  EXPECT_EQ(refusal(with_dim("if parameters != 'a b':\n    raise ValueError(parameters)\n" + plain), "a b"),
            "no error");
}

// Of made-up records: the words are shown, but not as a terminal obeys them.
TEST_F(PythonModule, MessagesHaveNoEscapes) {
  const std::string raise = "raise ValueError('\\x1b[2J\\x9b1m ' + 'two\\nlines')\n";
  for (const std::string& text :
       {raise, "def dim(columns):\n    " + raise + plain, with_dim("def losses(w, X, y):\n    " + raise),
        with_dim("labels = '\\x1b[2J\\x9b1m'\n" + plain)}) {
    const std::string message = refusal(text);
    EXPECT_TRUE(says(message, R"(\x1b[2J\x9b1m)")) << message;
    EXPECT_EQ(message.find('\x1b'), message.npos);
  }
}

TEST_F(PythonModule, ResultsHaveTheTypeAndShapeThatIsAskedFor) {
  const auto with_result = [](const std::string& result) {
    return refusal(with_dim("def losses(w, X, y):\n    return " + result + "\n"));
  };
  EXPECT_TRUE(says(with_result("[1.0] * 16"), "losses returned "));
  EXPECT_TRUE(says(with_result("(X @ w).astype(int)"), "losses returned "));
  EXPECT_TRUE(says(with_result("(X @ w)[:5]"), "float32 or float64 and shape (16,) is asked for"));
  EXPECT_TRUE(says(with_result("None"), "losses returned "));
  EXPECT_EQ(with_result("X[:, 0]"), "no error") << "a view of an argument is copied before the call ends";
}

TEST_F(PythonModule, ArraysAreNotWrittenTo) {
  EXPECT_TRUE(says(refusal(with_dim("def losses(w, X, y):\n    X[0, 0] = 1\n    return X[:, 0]\n")), "ValueError"));
  EXPECT_TRUE(says(refusal(with_dim("def losses(w, X, y):\n    w.setflags(write=True)\n    return X[:, 0]\n")),
                   "ValueError"));
}

// Torch has no views that are only read: what a module writes stays with it.
TEST_F(PythonModule, GetsTensorsIfItImportsTorch) {
  if (run_command("/usr/bin/python3 -c \"import torch\"").code != 0)
    GTEST_SKIP() << "python3-torch is not installed";
  const auto objective = module_of(
                             "import torch\nbatch = 16\ndef dim(columns):\n    return columns\n"
                             "def losses(w, X, y):\n"
                             "    assert torch.is_grad_enabled() and X.shape == (16, 7)\n"
                             "    found = (X * w).sum(1) - y\n"
                             "    w.zero_(), X.zero_()\n"
                             "    return found\n")
                             ->make(facts);
  const Records records = random_records({.count = 21, .features = 6, .labels = LabelKind::real});
  const std::vector<float> w = {0.1F, -0.2F, 0.3F, 0.5F, -0.7F, 0.2F, 0.4F};
  const std::vector<float> before = w;
  const auto losses = losses_of(*objective, records, w);
  EXPECT_EQ(w, before);
  for (std::size_t i = 0; i < records.count; ++i) {
    double expected = w[6] * records.bias - records.label[i];
    for (std::size_t j = 0; j < 6; ++j) expected += w[j] * feature(records, i, j);
    EXPECT_NEAR(losses[i], expected, 1e-5);
  }
}

// The words of an exception may quote a record; so may what a module prints.
TEST_F(PythonModule, SaysNothingOfPrivateRecords) {
  const auto objective = module_of(with_dim("def losses(w, X, y):\n"
                                            "    print('loss of', y[0])\n"
                                            "    if w[0] == 7:\n"
                                            "        raise ValueError(f'label {y[0]}')\n"
                                            "    return X[:, 0] * 1.0\n"))
                             ->make(facts);
  const Records records = random_records({.count = 3, .features = 6, .labels = LabelKind::real});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  std::string message = "no error";
  try {
    losses_of(*objective, records, std::vector<float>(7, 7));
  } catch (const DataError& error) {
    message = error.what();
  }
  losses_of(*objective, records, std::vector<float>(7, 1));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(says(message, "line 8: ValueError (its words are not shown: they may quote a record)")) << message;
  EXPECT_FALSE(says(message, "label")) << message;
}

TEST_F(PythonModule, IsAFileThatTheConfigVouchesFor) {
  const std::string path = testing::TempDir() + "dpmpi_refused_losses.py";
  std::ofstream(path) << with_dim(plain);
  const auto builder = builder_of("python", {{"objective.module", {path, "test"}}});
  auto& code = dynamic_cast<LibraryBuilder&>(*builder);
  EXPECT_EQ(code.key(), "objective.module");
  code.refuse("ask first");
  EXPECT_THROW(builder->label_kind(), ConfigError);
  EXPECT_THROW(builder->make(facts), ConfigError);
  permit_library(path);
  EXPECT_EQ(builder->label_kind(), LabelKind::real);

  const auto other = builder_of("python", {{"objective.module", {path, "test"}},
                                           {"objective.module_digest", {std::string(64, '0'), "test"}}});
  EXPECT_THROW(other->label_kind(), PrivacyError);
  EXPECT_THROW(builder_of("python", {})->label_kind(), ConfigError);
  EXPECT_THROW(dynamic_cast<LibraryBuilder&>(*builder_of("python", {{"objective.module", {"losses.py", "test"}}}))
                   .identify(),
               ConfigError)
      << "a bare name";
}

}  // namespace
}  // namespace dpmpi::test::python_test
