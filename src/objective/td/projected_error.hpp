#pragma once
// The mean squared projected Bellman error of transitions of which each holder has a share, without ever forming
// the matrix of the features' second moments.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "objective/capabilities.hpp"
#include "objective/td/point.hpp"

namespace dpmpi {

class ProjectedError {
 public:
  virtual ~ProjectedError() = default;
  /// The transitions since the last call are a record. Local.
  void end_record() { ++records_; }

  /// 1/2 b^T (G + mu I)^-1 b with b = sum of delta Psi and G = sum of Psi Psi^T over the whole set's records,
  /// divided by their number, by conjugate gradients to a relative residual of 1e-8. Sums are exact integers, so
  /// the result has the same bits however the set is shared. 0 without records; infinite where errors or features
  /// are beyond 1e75.
  double value(const SetTotals& whole, double mu);

 protected:
  /// Psi has so many coordinates.
  explicit ProjectedError(std::size_t dim) : dim_(dim) {}
  /// Takes the delta and the |Psi|^2 of one more transition. Local.
  void count(double error, double square);

 private:
  struct Totals {  ///< of the whole set
    std::int64_t transitions, records;
    double psi, error;  ///< largest |Psi| and |delta|
  };
  Totals totals(const SetTotals& whole) const;
  /// The sum of factor(transition) Psi over the whole set, divided by the number of records, where |factor| <=
  /// largest.
  std::vector<double> mean(const SetTotals& whole, const Totals& all, double largest,
                           const std::function<double(std::size_t)>& factor);
  virtual double along(std::size_t transition, const std::vector<double>& p) = 0;  ///< <Psi, p>
  /// sum += weight Psi, rounded coordinate by coordinate.
  virtual void add_to(std::size_t transition, double weight, std::span<std::int64_t> sum) = 0;

  std::size_t dim_;
  std::vector<double> errors_;
  double largest_psi_ = 0, largest_error_ = 0;
  std::int64_t records_ = 0;
};

/// Of a perceptron with one hidden layer or none, whose Psi is a few outer products. 8 (units[0] + 2 units[1])
/// bytes or so are kept of each transition.
class ProjectedErrorOfPerceptron final : public ProjectedError {
 public:
  explicit ProjectedErrorOfPerceptron(const MlpShape& shape);
  /// Takes a transition's Psi(s) and delta. Local.
  void add(const TdTerms& terms, const double* state);

 private:
  double along(std::size_t transition, const std::vector<double>& p) override;
  void add_to(std::size_t transition, double weight, std::span<std::int64_t> sum) override;

  // Coordinates: the weights and the bias of each unit, then the second layer.
  std::size_t inputs_, units_, second_;  ///< second_: numbers of the second layer, 0 without one
  std::vector<double> states_, slopes_, levels_;
};

}  // namespace dpmpi
