#include "method/zeroth_order/zo_o2nc_settings.hpp"

namespace dpmpi {

void ZoO2ncSettings::declare(Options& options) {
  outer.declare(options);
  options.add("auto", automatic, "choose T, B1, B2 and K by the bound for the privacy target")
      .add("batch", batch, "records B2 of a difference (0: 64, or chosen with method.auto)",
           Range::closed(0, 0x1p31))
      .add("first_batch", first_batch, "records B1 of a gradient (0: so many that leaf 1 costs no extra noise)",
           Range::closed(0, 0x1p31))
      .add("restart", restart, "steps q after which the running sum starts again with a gradient (0: T)",
           Range::closed(0, 0x1p31))
      .add("skip_last", skip_last, "make no query in the last step of an epoch, which the learner does not use")
      .add_words(
          "directions", scheme, "how the directions of a record are drawn",
          {{"haar", DirectionScheme::haar}, {"iid", DirectionScheme::iid}, {"block", DirectionScheme::block}})
      .add("count", count, "directions m of a record (0: as many as parameters)", Range::at_least(0))
      .add("block", block, "orthonormal directions in a group (directions = block)", Range::at_least(1))
      .add("centre", centre, "subtract the mean of a difference's slopes")
      .add("fast", fast, "use the closed form of haar directions for linear models")
      .add("slope_clip", slope_clip, "bound Lc on slopes along single directions (0: none)", Range::closed(0, 1e20))
      .add("gradient_clip", gradient_clip, "bound C_1 on a record's gradient estimate (0: by the directions)",
           Range::closed(0, 1e20))
      .add("kappa", kappa, "bound kappa L 2 D / delta on a record's difference (0: by the directions)",
           Range::closed(0, 1e20))
      .add("adaptive_clip", adaptive_clip,
           "bound differences by the distance that was travelled, with the noise to match")
      .add_words("strategy", strategy, "correlation of the noise of running sums",
                 {{"fenwick", Strategy::fenwick},
                  {"full_honaker", Strategy::full_honaker},
                  {"sqrt_toeplitz", Strategy::sqrt_toeplitz},
                  {"banded", Strategy::banded}})
      .add("band", band, "diagonals of strategy = banded", Range::at_least(1));
}

void ZoO2ncSettings::validate(std::vector<std::string>& problems) const {
  outer.validate(problems);
  if (restart > 0 && (restart > outer.inner || outer.inner % restart != 0))
    problems.emplace_back("method.restart must divide method.inner");
  if (skip_last && (outer.inner < 2 || (restart > 0 && restart != outer.inner)))
    problems.emplace_back("method.skip_last needs method.inner >= 2 and no method.restart");
  if (automatic && restart > 0) problems.emplace_back("method.auto chooses epochs without method.restart");
  if (automatic && outer.step_radius > 0)
    problems.emplace_back("method.auto is for D = delta / T: leave out method.step_radius");
  if (automatic && (outer.inner != ZoSettings{}.inner || outer.outer > 0 || first_batch > 0))
    problems.emplace_back("method.auto chooses T, B1 and K: leave out method.inner, first_batch and outer");
}

}  // namespace dpmpi
