#pragma once
// The worst objective that a method may meet: whatever the iterate, a record's contribution is as long as the clip
// lets it be. It stands in for the config's own, so that an audit sees what sampling, noise and accounting are
// worth when no gradient vanishes. Private to the audit.

#include "objective/objective.hpp"
#include "run/audit/records.hpp"

namespace dpmpi {

/// Has no losses: a method that asks for them is not tried on it.
class WorstCase final : public Objective, public GradientKernel, public GradientNorms {
 public:
  /// `real` must outlive it.
  explicit WorstCase(const Objective& real)
      : real_(real), whole_{{"all", 0, 1, real.dim()}}, layers_(real.groups()) {
    l2 = real.l2;
  }

  std::size_t dim() const override { return real_.dim(); }
  LabelKind label_kind() const override { return real_.label_kind(); }
  std::size_t classes() const override { return real_.classes(); }
  std::size_t outputs() const override { return real_.outputs(); }
  std::vector<ParameterGroup> groups() const override { return real_.groups(); }
  double flops_per_record() const override { return real_.flops_per_record(); }
  std::size_t micro_batch_rows() const override { return real_.micro_batch_rows(); }
  NumericSlack gradient_slack() const override { return offered(real_.gradients()).gradient_slack(); }
  void initialise(const PublicStream& stream, std::span<float> w) const override { real_.start_point(stream, w); }

 protected:
  Capabilities capabilities() override { return {.gradients = this, .norms = this}; }

 private:
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void gradient_norms(const Rows& rows, std::span<double> out) override;

  const Objective& real_;
  std::vector<ParameterGroup> whole_, layers_;  // that are clipped by themselves
  std::vector<double> signs_;
};

/// Canaries for it, number 0 .. count - 1: their contributions are orthogonal to each other as long as there are
/// dimensions, and of random signs from there on. `negative`: with the opposite contributions.
Records worst_case_canaries(const RecordShape& shape, std::size_t count, bool negative);

}  // namespace dpmpi
