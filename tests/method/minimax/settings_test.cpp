#include "method/minimax/settings.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/data_files.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::minimax_settings_test {
namespace {

// What a method needs of weights is said before anything is released.
TEST(SaddleSettings, WeightsNeedAPublicMean) {
  const auto auc = make_objective("auc", {6, Storage::dense_f32, 1}, {{"objective.prior", "0.3"}});
  SaddleObjective& f = *auc->saddle();
  SaddleSettings settings;
  EXPECT_NO_THROW(settings.check(f));
  f.record_factors.weight = true, f.factor_columns.weight = "c.txt:2: column 'w'";
  EXPECT_MENTIONS(message_of<ConfigError>([&] { settings.check(f); }),
                  "objective.mean_weight is required, because c.txt:2: column 'w' is of kind weight");
  f.given_mean_weight = 0.5;
  EXPECT_NO_THROW(settings.check(f));
  settings.private_prior = true;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { settings.check(f); }), "method.prior = private counts");
  f.record_factors.weight = false;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { settings.check(f); }), "data.columns has none: remove it");
}

}  // namespace
}  // namespace dpmpi::test::minimax_settings_test
