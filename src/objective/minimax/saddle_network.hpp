#pragma once
// What min-max problems need of a network: passes over a micro-batch, and clipped gradients and differences of a
// loss of its outputs, by the weights and by the loss's slopes() behind them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "objective/layers/augmentation.hpp"
#include "objective/layers/record_pass.hpp"
#include "objective/network/shape.hpp"
#include "objective/objective.hpp"
#include "objective/output_loss.hpp"
#include "objective/score_writer.hpp"

namespace dpmpi {

/// Local; allocates when it is made, and at the first pair of points.
class SaddleNetwork {
 public:
  virtual ~SaddleNetwork() = default;

  virtual std::size_t dim() const = 0;  ///< weights
  virtual std::size_t outputs() const = 0;
  virtual std::size_t rows_at_once() const = 0;
  virtual double flops() const = 0;  ///< of one clipped gradient
  virtual std::vector<ParameterGroup> groups() const = 0;
  /// As Objective::score_recipe() and structure(); the parameters begin with the weights.
  virtual ScoreRecipe score_recipe() const = 0;
  virtual std::vector<std::string> structure() const { return {}; }
  /// From the stream's numbers from `first` on.
  virtual void initialise(const PublicStream& stream, std::span<float> weights, std::uint64_t first) const = 0;
  /// Relative to the bound.
  virtual NumericSlack gradient_slack() const = 0;
  virtual NumericSlack difference_slack() const = 0;

  /// Moves to dim() weights; the tail behind them is read when gradients are made.
  virtual void load(std::span<const float> weights, std::span<const float> tail) = 0;
  /// The same for the two points of add_differences(), with their tails behind the weights.
  virtual void load_pair(std::span<const float> w, std::span<const float> v) = 0;

  /// Random copies of each record, of whose gradients the mean is taken; 1: it may be the record itself.
  virtual std::size_t copies() const { return 1; }
  virtual bool sees_copies() const { return false; }

  // At most rows_at_once() rows; what is added is announced to the sum.

  virtual void forward(const Rows& rows) = 0;
  /// The same of each row's copies.
  virtual void forward_copies(const Rows& rows) { forward(rows); }
  /// Adds each row's gradient, clipped as a whole; leaves the outputs as forward_copies() does.
  virtual void add_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;
  /// Of the last pass. Of forward() there is copy 0 alone, the record itself.
  virtual const float* outputs_of(std::size_t row, std::size_t copy) const = 0;
  /// False: the gradient of this row of the last add_gradients() was not finite, and nothing was added.
  virtual bool kept(std::size_t row) const = 0;
  /// Adds clip(gradient at w - gradient at v) of each row, safe against cancellation.
  virtual void add_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;
};

/// Makes a network under a loss, which outlives it.
using SaddleNetworkMaker = std::function<std::unique_ptr<SaddleNetwork>(OutputLoss& loss)>;
SaddleNetworkMaker perceptron(MlpShape shape);
SaddleNetworkMaker layered(LayeredShape shape, const Augmentation& augmentation = {});
/// Of records in float32, and of both points of a difference in double.
inline constexpr LayerPasses saddle_passes{.in_float = 1, .in_double = 2};
/// Throws ConfigError for layers that min-max problems do not take: random ones, and those with adapters.
void check_layers_of_saddles(const LayeredShape& shape, std::string_view option = "layers");

}  // namespace dpmpi
