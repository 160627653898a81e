#pragma once
// What the forms of the objective `td` have in common, whether a record is a transition or an episode, and whatever
// the value function is: the parameters, the public part, and what is measured on evaluation records.

#include <memory>
#include <vector>

#include "objective/td/factory.hpp"
#include "objective/td/point.hpp"
#include "objective/td/projected_error.hpp"

namespace dpmpi {

/// Any value function of parameters theta; omega has as many.
class TdProblem : public SaddleObjective, public PrivatePrimal, public SetMeasures {
 public:
  explicit TdProblem(TdSettings settings) : settings_(std::move(settings)) {}

  std::size_t dim() const override { return 2 * primal_dim(); }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override;
  void initialise(const PublicStream& stream, std::span<float> w) const override;
  /// Refuses an episode of more transitions than records have room for: of such data every record is taken apart in
  /// the wrong places, and none would contribute.
  void check_records(const Shard& shard) const override;

  void add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void project_dual(std::span<float> y) const override;

  NumericSlack primal_gradient_slack() const override { return slack(); }
  NumericSlack dual_gradient_slack() const override { return slack(); }
  NumericSlack saddle_gradient_slack() const override { return slack(); }
  NumericSlack primal_difference_slack() const override { return slack(); }

 protected:
  std::vector<Measure> measures(const SetTotals& whole, const Shard& shard) override;
  Capabilities capabilities() override {
    return {.values = this, .saddle = this, .primal = this, .measures = this};
  }
  virtual NumericSlack slack() const = 0;
  virtual std::vector<ParameterGroup> value_groups() const = 0;  ///< of theta
  virtual void initialise_value(const PublicStream& stream, std::span<float> theta) const = 0;
  virtual double value_of(std::span<const double> state) = 0;  ///< V of a state's features, at the point prepared
  /// Of the transitions of a shard, likewise.
  virtual std::unique_ptr<ProjectedError> projected_error(const Shard& shard) = 0;

  TdSettings settings_;

 private:
  double value_error();
};

/// A linear value function, or a perceptron with one hidden layer.
class TdBase : public TdProblem {
 public:
  explicit TdBase(const TdSettings& settings);

  std::size_t primal_dim() const override { return shape_.dim(); }

 protected:
  void prepare(std::span<const float> w) override { at_w_.load(w); }
  void prepare_pair(std::span<const float> w, std::span<const float> v) override { at_w_.load(w), at_v_.load(v); }
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  std::vector<ParameterGroup> value_groups() const override;
  void initialise_value(const PublicStream& stream, std::span<float> theta) const override;
  double value_of(std::span<const double> state) override;
  std::unique_ptr<ProjectedError> projected_error(const Shard& shard) override;

  /// Unpacks record `i` for transition(): how many there are, 0 for an empty slot and for what contributes nothing.
  virtual std::size_t unpack(const Records& records, std::uint32_t i) = 0;
  /// Transition t of the record that unpack() was last called for.
  virtual Transition transition(std::size_t t) const = 0;

  bool has_hidden_layer() const { return shape_.layers() > 1; }
  /// terms_ = at w less at v. s and s' do not depend on theta, so the difference of two gradients has the form of a
  /// gradient, with the differences of P, Q and the second layer's part.
  void evaluate_difference(const Transition& t);

  MlpShape shape_;
  TdPoint at_w_, at_v_;
  TdTerms terms_;

 private:
  TdTerms terms_v_;
};

/// The forms.
std::unique_ptr<SaddleObjective> make_td_of_transitions(const TdSettings& settings);
std::unique_ptr<SaddleObjective> make_td_of_episodes(const TdSettings& settings);
std::unique_ptr<SaddleObjective> make_td_of_layers(const TdSettings& settings);

}  // namespace dpmpi
