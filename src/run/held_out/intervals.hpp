#pragma once
// Intervals of functions of noisy counts. They cover both what the noise does and that the records are the ones
// that they are; all are of 95 % (docs/theory/held_out.md).

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace dpmpi {

struct Estimate {
  std::string name;
  std::optional<double> value;  ///< none where too few records or too much noise leave nothing to say
  double low = 0, high = 0;     ///< 95 %
};

namespace noisy {

using Counts = std::span<const double>;
using Function = std::function<double(Counts)>;

inline constexpr double deviations = 1.959963984540054;  ///< of a normal law, that 95 % are within
inline constexpr double fewest_of_a_share = 20;

double total(Counts counts);
double chance(double log_odds);

/// A sum of so many noisy counts.
struct NoisySum {
  double value = 0;
  std::size_t terms = 0;
  explicit NoisySum(Counts counts) : value(total(counts)), terms(counts.size()) {}
  NoisySum(double sum, std::size_t counts) : value(sum), terms(counts) {}
  NoisySum operator+(const NoisySum& other) const { return {value + other.value, terms + other.terms}; }
  double variance_of_noise(double noise_std) const { return noise_std * noise_std * static_cast<double>(terms); }
};

/// The two halves of the counts by bin: -1 and +1, or wrong and right.
struct Halves {
  Counts no, yes;
  explicit Halves(Counts counts) : no(counts.first(counts.size() / 2)), yes(counts.subspan(counts.size() / 2)) {}
};

/// What a sum has to be that has at least so many records and is far above its noise.
double least_seen(const NoisySum& sum, double noise_std, double records);
bool is_seen(const NoisySum& sum, double noise_std, double records = fewest_of_a_share);

/// Nothing is said: any value in [0, 1].
Estimate unsaid(std::string name);

/// The share y / (y + n). Its interval has the shares p for which y - p (y + n) is within 1.96 of its deviations,
/// as p has it: Wilson's interval (1927), with noise Fieller's (1954). It needs no first order, nor counts above 0.
Estimate share(std::string name, const NoisySum& yes, const NoisySum& no, double noise_std);

/// The mean of independent shares: distances to its ends are those of a sum of squares (Zou and Donner 2008).
Estimate mean_of(std::string name, std::span<const Estimate> shares);

/// How far a function of counts, with values in [0, 1], may be from what is true.
struct Spread {
  double of_records = 0;  ///< variance, as counts of other records would have it
  double of_noise = 0;    ///< variance
  double of_bins = 0;     ///< what is not told by the counts, as one deviation
};
/// To first order. Local.
Spread spread_of(const Function& f, Counts counts, double noise_std);

/// A value in [0, 1] of the rarer of two kinds of records, of which there are `fewest`. Its interval has the p that
/// are within 1.96 deviations of the value, where other records vary as p (1 - p), and the rest does not depend on
/// p.
Estimate with_spread(std::string name, double value, const Spread& spread, double fewest);

}  // namespace noisy
}  // namespace dpmpi
