#pragma once
// The smallest bound that any accountant proves.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/accountants/accountant.hpp"

namespace dpmpi {

/// All accountants that have a bound for every event so far; the smallest of their results. Throws PrivacyError
/// once none is left, with each one's reason.
class BestAccountant final : public Accountant {
 public:
  explicit BestAccountant(Adjacency adjacency);

  std::string_view name() const override { return "best"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  /// These throw BugError if one accountant's lower bound lies above another's upper bound.
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;
  double least_epsilon(double delta) const override;
  double least_delta(double epsilon) const override;
  void recall(const PldAccountant& other) override;

  /// Those that are left, in a fixed order.
  std::vector<const Accountant*> parts() const override;
  std::map<std::string, std::string> refusals() const override { return refusals_; }
  std::optional<double> gaussian() const override;

 private:
  std::vector<std::unique_ptr<Accountant>> parts_;
  std::map<std::string, std::string> refusals_;
};

}  // namespace dpmpi
