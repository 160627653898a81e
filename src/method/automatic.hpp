#pragma once
// Settings that a config leaves to its method: method.rate = auto. A method that finds some registers a rule in its
// own folder: which settings, what it takes for granted, and how they follow from public numbers. Nothing else
// knows of any of them (run/config/automatic.hpp takes the word out of a config, run/suggest puts the numbers in
// its place).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/records/records.hpp"

namespace dpmpi {

/// What rules go by: all of it public.
struct PublicNumbers {
  double records = 1;      ///< n
  double size = 1;         ///< R: length of a typical record, with its bias
  double sensitivity = 1;  ///< of the sum of clipped gradients, in clips: 1 under add_remove, 2 under replace_one
  LabelKind labels = LabelKind::sign;
  /// mu of the run's GDP; infinity: without noise. With noise_multiplier > 0 it is not looked at.
  double mu = 1;
  double noise_multiplier = 0;  ///< 0: the noise follows from mu
  bool full = false;            ///< every step uses all records
  double parameters = 1;        ///< d
  bool network = false;         ///< scores are not linear in the parameters
};

/// The text of "rate" in the config, its default where it has none; nothing: the rule is to find it.
using GivenSetting = std::function<std::optional<std::string>(const std::string& key)>;

struct FoundSetting {
  std::string key, text;  ///< "rate", "0.5"
  std::string why;        ///< in words, at most 70 letters
};
struct FoundSettings {
  std::vector<FoundSetting> all;  ///< one for each of the rule's keys, in their order; those that are given, too
  double noise_over_signal = 0;   ///< of all parameters; 0 without noise
};

struct AutomaticRule {
  struct Needed {
    std::string setting;              ///< "method.optimizer"
    std::vector<std::string> values;  ///< that it may have where a config sets it
    std::string words;                ///< what is needed, behind "method.rate = auto needs "
    bool by_default = true;           ///< what it is where no config sets it is one of them
  };
  std::string name;               ///< of the method
  std::vector<std::string> keys;  ///< that may be automatic, in the order in which they are shown
  std::vector<Needed> needed;
  bool networks = false;  ///< it knows of networks (mlp, network), too
  /// Local; the same on every rank. All values are finite and within the ranges of their options.
  FoundSettings (*find)(const PublicNumbers& numbers, const GivenSetting& given);
};

const std::vector<AutomaticRule>& automatic_rules();  ///< sorted by name
/// Null: the method finds nothing by itself.
const AutomaticRule* automatic_rule(const std::string& method);

struct AutomaticRegistration {
  explicit AutomaticRegistration(AutomaticRule rule);
};

/// To two digits.
double two_digits(double x);
/// sqrt(d) / (n signal), `signal` being mu as it counts: noise of all parameters over the longest sum of gradients.
double noise_over_signal(const PublicNumbers& numbers, double signal);

}  // namespace dpmpi
