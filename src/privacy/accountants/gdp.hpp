#pragma once
// Gaussian differential privacy (Dong, Roth and Su 2022): everything made of Gaussian noise on whole-data queries
// composes exactly into one number mu, the distance of two unit normals that are as hard to tell apart as the
// outputs.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "privacy/accountants/accountant.hpp"

namespace dpmpi {

/// Exact for gaussian, tree, gdp and Poisson sampling with rate 1, under both adjacencies. For hidden_state without
/// sampling the smaller of composition and of the bounds of privacy/last_iterate/bounds.hpp, which use a part of
/// delta. Refuses everything else. mu^2 adds up: uses of one mechanism are counted, so grouping and order of the
/// events do not matter.
class GdpAccountant final : public Accountant {
 public:
  explicit GdpAccountant(Adjacency adjacency) : Accountant(adjacency) {}

  std::string_view name() const override { return "gdp"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;
  double least_epsilon(double delta) const override;
  double least_delta(double epsilon) const override;
  std::optional<double> gaussian() const override { return mu(); }

  /// Of everything composed, rounded up; infinity after a non_private event. Runs with hidden iterates count as if
  /// every iterate were released.
  double mu() const;

 private:
  struct Use {
    long double squared_mu;  // of one use
    std::uint64_t count = 0;
  };
  long double sum_of_squares() const;
  double least_mu() const;  // of what is exact, rounded down
  struct Coupled;
  bool hides_iterates() const;
  Coupled coupled(double failure) const;

  std::map<Mechanism, Use> uses_;
};

}  // namespace dpmpi
