#include "method/last_iterate/settings.hpp"

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/schedule.hpp"

namespace dpmpi {
namespace {

std::vector<std::pair<std::string, DirectionLaw>> laws() {
  return {{"stiefel", DirectionLaw::stiefel},
          {"sphere_iid", DirectionLaw::sphere_iid},
          {"sphere_sqrtd", DirectionLaw::sphere_sqrtd},
          {"gauss", DirectionLaw::gauss}};
}

/// A whole number above 1.
std::optional<std::uint64_t> number_of_steps(const std::string& text) {
  std::uint64_t steps = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, steps);
  if (read.ec != std::errc() || read.ptr != end || steps < 2) return {};
  return steps;
}

}  // namespace

std::string LastIterateSettings::law_name() const {
  for (const auto& [word, its] : laws())
    if (its == law) return word;
  return {};
}

void LastIterateSettings::declare(Options& options) {
  options.add("steps", steps, "steps T of the run", Range::closed(1, 0x1p31))
      .add("directions", directions, "directions K of a step: so many numbers go to the root and back",
           Range::closed(1, 4096))
      .add_words(
          "law", law,
          "law of the directions: Haar frames, independent unit vectors, vectors of length sqrt(d), or normals",
          laws())
      .add("sampling", sampling,
           "which records take part in a step; shuffle_once and reshuffle are public partitions (poisson: "
           "release = all only)",
           {"full", "wor", "cyclic", "shuffle_once", "reshuffle", "poisson"})
      .add("batch", batch, "records b of a step, the public normaliser (sampling = full: all)",
           Range::closed(1, 0x1p31))
      .add("rate", rate, "step size eta (0: K / M, and d / (M + l2) by composition, if the smoothness M is known)",
           Range::non_negative())
      .add("radius", radius, "probe radius xi (0: as large as costs the guarantee nothing)", Range::non_negative())
      .add("ball", ball, "radius R of the ball that iterates are projected onto (0: none)", Range::non_negative())
      .add_words("clipping", joint, "bound the norm of a record's K differences, or each of them",
                 {{"joint", true}, {"coordinate", false}})
      .add("clip", clip,
           "bound C on the norm, or Delta on each difference (0: the largest that a certified loss can give)",
           Range::non_negative())
      .add(
          "clip_failure", clip_failure,
          "probability that a clip may act in the whole run, taken from delta: a smaller automatic clip (0: never)",
          {0, 1, false, true})
      .add("release", release,
           "which iterates are released: all (accounted for by composition, which holds for any loss), final (the "
           "last alone) or a number of steps between them (the others stay hidden, and the loss must be certified "
           "smooth)")
      .add("share", share,
           "share f of the noise's energy along the directions, in the window (-1: the best; release = all: 1)",
           {automatic, 1, false, false})
      .add("window", window,
           "last N steps with noise across the directions as well (0: the best; release = all: all steps)",
           Range::closed(0, 0x1p31))
      .add("feature_bound", feature_bound,
           "Rx: longer records (with the bias column) are scaled down to it (0: records as they are)",
           Range::non_negative())
      .add("label_bound", label_bound, "Y: real labels are moved into [-Y, Y] (0: labels as they are)",
           Range::non_negative())
      .add(
          "i_have_proved", proved,
          "M, m, L of every admissible record's loss, without objective.l2, on the ball of radius R + xi: its "
          "gradient is M-Lipschitz, its Hessian at least m (above 0 it counts as 0), itself L-Lipschitz (empty: what "
          "the objective knows)",
          Range::closed(-1e30, 1e30))
      .add("direction_seed", direction_seed,
           "public seed of the directions, chosen in advance (-1: drawn when the run begins)",
           {-1, 0x1p53, false, false})
      .add("seed", seed, "public seed of start point and shuffle", Range::at_least(0));
}

void LastIterateSettings::validate(std::vector<std::string>& problems) const {
  if (share != automatic && share < 0)
    problems.push_back(fmt::format("method.share = {}: it must be -1 or in [0, 1]", share));
  // Squares of lengths stay far from overflow and underflow, and the ball is resolved by float32.
  if (ball > 0 && (ball < 1e-30 || ball > 1e30))
    problems.push_back(fmt::format("method.ball = {}: it must be 0 or in [1e-30, 1e30]", ball));
  if (rate > 1e30) problems.push_back(fmt::format("method.rate = {}: it must be at most 1e30", rate));
  if (release != "final" && release != "all" && !number_of_steps(release))
    problems.push_back(
        fmt::format("method.release = {}: it must be final, all, or a number of steps above 1", release));
  if (!proved.empty() && !(proved.size() == 3 && proved[0] > 0 && proved[2] > 0))
    problems.push_back(
        fmt::format("method.i_have_proved = {}: it must be three numbers, the first and the last above 0",
                    fmt::join(proved, ",")));
  if (window > steps)
    problems.push_back(
        fmt::format("method.window = {}: it must be at most method.steps = {}, the whole run", window, steps));
  const bool across = share != automatic && share < 1;
  if (across && law != DirectionLaw::stiefel && directions > 1)
    problems.push_back(
        fmt::format("method.share = {} is noise across the directions, which method.law = {} has for one direction "
                    "only: it must be stiefel, or method.directions 1",
                    share, law_name()));
  if (across && law == DirectionLaw::gauss)
    problems.push_back(fmt::format(
        "method.share = {} is noise across the directions, which must have a fixed length: method.law = gauss has none",
        share));
  if (clip > 0 && clip_failure > 0 && !hidden())
    problems.push_back(
        fmt::format("method.clip_failure = {} belongs to hidden iterates: with method.release = all it must be 0",
                    clip_failure));
}

std::string LastIterateSettings::describe_releases() const {
  if (!hidden()) return "the model and every iterate";
  const char* also = ", beside public settings and all directions";
  if (release == "final") return std::string("the model alone") + also;
  return "the model and the iterate after every " + release + " steps" + also;
}

SamplingRule LastIterateSettings::rule(std::uint64_t records) const {
  const bool partition = sampling == "shuffle_once" || sampling == "reshuffle";
  const auto b = whole(batch);
  // One part, which is the full batch, or a batch that is refused.
  if (partition && b >= records) return sampling_rule("wor", batch, records);
  if (!partition) return sampling_rule(sampling, batch, records);
  return Shuffled{.seed = whole(seed),
                  .first = b,
                  .batch = b,
                  .leaves = 1,
                  .runs = records / b,
                  .reshuffle = sampling == "reshuffle"};
}

std::uint64_t LastIterateSettings::release_every() const {
  if (release == "all") return 1;
  return number_of_steps(release).value_or(T());
}

std::vector<std::uint64_t> LastIterateSettings::released_steps() const {
  std::vector<std::uint64_t> all;
  for (std::uint64_t t = release_every(); t < T(); t += release_every()) all.push_back(t);
  all.push_back(T());
  return all;
}

}  // namespace dpmpi
