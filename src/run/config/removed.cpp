#include "run/config/removed.hpp"

namespace dpmpi {
namespace {

struct Removed {
  const char* key;
  const char* value;  ///< empty: any
  const char* instead;
  const char* method = "";  ///< of this one only
};

constexpr const char* proved = "set method.i_have_proved to the three constants: smoothness, curvature, lipschitz";

const Removed all[] = {
    {"method.name", "sgd", "take dp-sgd with privacy.noise = none (its method.clip was 100)"},
    {"method.name", "sgda", "take dp-sgda with privacy.noise = none (its method.clip was 100)"},
    {"method.name", "private-diff-noiseless",
     "take private-diff with privacy.noise = none (its method.clip was 100, and method.difference_least = 200, twice "
     "the clip, leaves differences as they are)"},
    {"method.name", "private-diff-literal",
     "it was the algorithm with the errors of its paper, and not private; take private-diff"},
    {"method.name", "mezo",
     "take zo-hidden with privacy.noise = none, method.release = all, law = gauss, "
     "directions = 1, sampling = wor, batch = 16, clip = 100 and direction_seed = 1"},
    {"method.name", "zo-ks", "take zo-naive with privacy.noise = none"},
    {"method.name", "zo-o2nc-noiseless", "take zo-o2nc with privacy.noise = none"},
    {"method.name", "gibo-noiseless", "take gibo with privacy.noise = none"},
    {"method.name", "random-search-noiseless", "take random-search with privacy.noise = none"},
    {"method.name", "ucb-bo-noiseless", "take ucb-bo with privacy.noise = none"},
    {"method.calibration", "", "noise is for the exact sensitivity, without exception; leave it out"},
    {"method.stated_epsilon", "", "noise that a paper prints is in the tests only; leave it out"},
    {"method.paper_constants", "", "settings that a paper prints are in the tests only; leave it out"},
    {"method.paper", "", "curves that a paper prints are in the tests only; leave it out"},
    {"method.release", "ledger", "set method.release to the number of steps between releases"},
    {"method.release_every", "", "set method.release to this number"},
    {"method.smoothness", "", proved, "zo-hidden"},
    {"method.curvature", "", proved, "zo-hidden"},
    {"method.lipschitz", "", proved, "zo-hidden"},
    {"method.i_have_proved_it", "", proved, "zo-hidden"},
    {"method.accounting", "composition",
     "leave it out and set method.release = all, which is accounted for by composition", "zo-hidden"},
    {"method.accounting", "",
     "leave it out: a run is accounted for as hidden unless method.release = all releases every iterate",
     "zo-hidden"},
    {"method.start", "", "zo-hidden begins where the objective does; leave it out", "zo-hidden"},
    {"method.momentum", "", "the step of zo-hidden has none; leave it out", "zo-hidden"},
    {"method.average", "", "zo-hidden releases its iterates as they are; leave it out", "zo-hidden"},
};

}  // namespace

std::string instead_of(const std::string& key, const std::string& value, const std::string& method) {
  for (const Removed& removed : all)
    if (key == removed.key && (removed.value[0] == '\0' || value == removed.value) &&
        (removed.method[0] == '\0' || method == removed.method))
      return removed.instead;
  return {};
}

}  // namespace dpmpi
