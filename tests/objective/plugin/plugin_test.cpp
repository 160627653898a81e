#include "dpmpi/plugin.h"

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "objective/kernel.hpp"
#include "objective/minimax/saddle.hpp"
#include "objective/objective_property.hpp"
#include "objective/plugin/library.hpp"
#include "objective/values/paired_losses.hpp"

namespace dpmpi::test::plugin_test {
namespace {

std::unique_ptr<ObjectiveEntry::Builder> builder_with(const std::string& library, const std::string& parameters,
                                                      const std::string& digest = "") {
  for (const ObjectiveEntry& entry : objectives()) {
    if (entry.name != "plugin") continue;
    auto builder = entry.builder();
    Options options("objective");
    builder->declare(options);
    std::vector<std::string> problems;
    options.read({{"objective.library", {library, "test"}},
                  {"objective.library_digest", {digest, "test"}},
                  {"objective.parameters", {parameters, "test"}}},
                 problems);
    EXPECT_TRUE(problems.empty());
    return builder;
  }
  return nullptr;
}

std::unique_ptr<Objective> pinball(const std::string& parameters, const ObjectiveFacts& facts) {
  return builder_with(DPMPI_PINBALL_PLUGIN, parameters)->make(facts);
}

/// The message of the ConfigError that `act` throws.
template <class Act>
std::string config_error(Act act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

double pinball_loss(const Records& records, std::size_t i, std::span<const double> w, double quantile) {
  double residual = records.label[i] - w[records.features] * records.bias;
  for (std::size_t j = 0; j < records.features; ++j) residual -= w[j] * feature(records, i, j);
  return (residual < 0 ? quantile - 1 : quantile) * residual;
}

// A plugin reads points in float32: probes are its losses at rounded points.
TEST(PinballProbes, AreLossesAtPointsRoundedToFloat) {
  const Records records = random_records({.count = 4, .features = 6, .labels = LabelKind::real});
  const auto objective = pinball("quantile=0.9", {6, Storage::dense_f32, 1});
  const std::vector<double> x = {0.1, -0.2, 0.3, 0.5, -0.7, 0.2, 0.4}, y = {0.2, -0.1, 0.3, 0.4, -0.7, 0.2, 0.1};
  Directions directions(DirectionScheme::iid, 7, 5, 1, 1);
  const DirectionTile tile = directions.tile(0, 0, 0);
  std::vector<double> up(5), down(5);
  for (const bool pair : {false, true}) {
    PairedLosses losses(*objective);
    losses.prepare(x, pair ? std::span<const double>(y) : std::span<const double>());
    for (std::uint32_t i = 0; i < 4; ++i) {
      losses.probe({records, {&i, 1}}, 0.5, tile, up, down);
      const auto loss = [&](std::span<const double> from, double step, std::size_t j) {
        std::vector<double> w(7);
        for (std::size_t k = 0; k < 7; ++k) w[k] = static_cast<float>(from[k] + step * tile.row(j)[k]);
        return pinball_loss(records, i, w, 0.9);
      };
      for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_NEAR(up[j], loss(x, 0.5, j), 1e-6);
        EXPECT_NEAR(down[j], pair ? loss(y, 0.5, j) : loss(x, -0.5, j), 1e-6);
      }
    }
  }
}

class Pinball : public testing::TestWithParam<Storage> {};

TEST_P(Pinball, LossesAreThoseOfTheFormula) {
  Records records = random_records({.storage = GetParam(), .count = 21, .features = 6, .labels = LabelKind::real});
  empty_slot(records, 4);
  ASSERT_TRUE(spoil_feature(records, 8, std::numeric_limits<float>::infinity()));
  const auto objective = pinball("quantile=0.9", {6, GetParam(), 1});
  ASSERT_EQ(objective->dim(), 7U);
  EXPECT_EQ(objective->label_kind(), LabelKind::real);
  EXPECT_FALSE(objective->gradients());

  const std::vector<float> w = {0.1F, -0.2F, 0.3F, 0.5F, -0.7F, 0.2F, 0.4F};
  const auto index = all_rows(records);
  const Rows rows{records, index};
  std::vector<double> losses(records.count);
  objective->at(w).losses(rows, losses);
  for (std::size_t i = 0; i < records.count; ++i) {
    if (i == 4 || i == 8)
      EXPECT_TRUE(std::isnan(losses[i])) << "a record that does not count";
    else
      EXPECT_NEAR(losses[i], pinball_loss(records, i, widened(w), 0.9), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Storages, Pinball,
                         testing::Values(Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32));

TEST(Plugin, HasNoGradientsAndTheRefusalSaysWhatWorks) {
  const auto objective = pinball("", {6, Storage::dense_f32, 1});
  EXPECT_EQ(objective->gradients(), nullptr);
  EXPECT_THROW(clipped_gradients(*objective, {}), NotOffered);
  std::vector<std::string> problems;
  check_gradients(*objective, "dp-sgd", problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("zo-hidden"), std::string::npos) << problems[0];
}

TEST(Plugin, LoadingErrorsNameThePathAndTheReason) {
  const ObjectiveFacts facts{6, Storage::dense_f32, 1};
  const auto error = [&](const std::string& library, const std::string& parameters) {
    return config_error([&] { builder_with(library, parameters)->make(facts); });
  };
  EXPECT_EQ(error("", ""), "objective.library is missing: objective.name = plugin needs a shared object");
  EXPECT_EQ(
      error("/no/such/plugin.so", ""),
      "cannot load the plugin /no/such/plugin.so: /no/such/plugin.so: cannot open shared object file: No such file or directory");
  EXPECT_EQ(error("libm.so.6", ""), "libm.so.6 is no dpmpi plugin: it lacks dpmpi_plugin_entry");
  EXPECT_NE(error(DPMPI_OTHER_VERSION_PLUGIN, "").find("has interface version 4711, this dpmpi needs 1"),
            std::string::npos);
  EXPECT_NE(
      error(DPMPI_PINBALL_PLUGIN, "quantile=1.5").find("expected quantile=Q with Q in (0, 1), not 'quantile=1.5'"),
      std::string::npos);
}

TEST(Plugin, RefusedCodeIsNotLoadedUnlessThePathIsPermitted) {
  const std::string library = testing::TempDir() + "dpmpi_refused_plugin.so";
  std::filesystem::copy_file(DPMPI_PINBALL_PLUGIN, library, std::filesystem::copy_options::overwrite_existing);
  const auto builder = builder_with(library, "");
  auto& code = dynamic_cast<LibraryBuilder&>(*builder);
  EXPECT_EQ(code.library(), library);
  code.refuse("ask first");
  EXPECT_EQ(config_error([&] { builder->label_kind(); }), "ask first");
  EXPECT_EQ(config_error([&] { builder->classes(); }), "ask first");
  EXPECT_EQ(config_error([&] { builder->make({6, Storage::dense_f32, 1}); }), "ask first");
  permit_library(library);
  EXPECT_EQ(builder->label_kind(), LabelKind::real);
}

TEST(Plugin, OtherBytesThanThoseOfTheDigestAreNotLoaded) {
  const std::string other(64, '0');
  EXPECT_THROW(builder_with(DPMPI_PINBALL_PLUGIN, "", other)->label_kind(), PrivacyError);
  EXPECT_THROW(dynamic_cast<LibraryBuilder&>(*builder_with(DPMPI_PINBALL_PLUGIN, "", other)).identify(),
               PrivacyError);
  const auto builder = builder_with(DPMPI_PINBALL_PLUGIN, "", file_digest(DPMPI_PINBALL_PLUGIN));
  EXPECT_EQ(builder->label_kind(), LabelKind::real);
  EXPECT_NE(config_error([] {
              dynamic_cast<LibraryBuilder&>(*builder_with("libm.so.6", "")).identify();
            }).find("write a path, ./libm.so.6 say"),
            std::string::npos);
}

// A loss that depends on the batch would void the sensitivity: such a plugin sees one record at a time.
TEST(Plugin, OneRecordAtATimeUnlessThePluginPromisesRowInvariance) {
  const auto builder = builder_with(DPMPI_FICKLE_PLUGIN, "");
  EXPECT_EQ(builder->label_kind(), LabelKind::class_);
  EXPECT_EQ(builder->classes(), 3U);
  const auto objective = builder->make({6, Storage::dense_f32, 1});
  Records records = random_records({.count = 5, .features = 6, .labels = LabelKind::class_, .classes = 3});
  empty_slot(records, 2);
  const std::vector<float> w = {7};
  std::vector<double> losses(5);
  const auto index = all_rows(records);
  objective->at(w).losses({records, index}, losses);
  for (std::size_t i = 0; i < 5; ++i) {
    if (i == 2)
      EXPECT_TRUE(std::isnan(losses[i]));
    else
      EXPECT_EQ(losses[i], 7.0);
  }
  EXPECT_NE(config_error([&] { builder_with(DPMPI_FICKLE_PLUGIN, "x")->classes(); }).find("0 classes"),
            std::string::npos);
}

}  // namespace
}  // namespace dpmpi::test::plugin_test
