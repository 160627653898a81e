#pragma once
// The words in which a model says how the scores of a record come from its features, for whoever writes models down
// for others: a few operators, one call each, in the order in which they are computed.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

/// Windows of height x width every `stride` positions, in an image with `padding` zeros around it.
struct WindowShape {
  std::size_t height = 1, width = 1, stride = 1, padding = 0;
};

enum class NumberFunction { absolute, exponential, logarithm, negative, rectifier, root, sigmoid, tanh };
enum class PairFunction { sum, difference, product, quotient, larger };

/// Values are numbers of one record. They have a shape: a list has one size, an image channels x height x width.
/// Arithmetic is in double, but where it says otherwise.
class ScoreWriter {
 public:
  using Value = std::string;  ///< how the writer calls it
  using Shape = std::vector<std::size_t>;
  /// Numbers of the model. `values` need not outlive the call.
  struct Parameters {
    std::string name;
    Shape shape;
    std::span<const float> values;
  };

  virtual ~ScoreWriter() = default;

  virtual Value number(std::string_view name, double x) = 0;
  virtual Value parameters(const Parameters& p) = 0;
  virtual Value function(NumberFunction of, const Value& x) = 0;
  /// Of numbers at the same places. Shapes are lined up at their ends, and a size of 1 is repeated.
  virtual Value pair(PairFunction of, const Value& a, const Value& b) = 0;
  /// The same numbers in another shape, the last index running first.
  virtual Value reshape(const Value& x, const Shape& shape) = 0;
  /// As large as `shape`, which has as many sizes: a size of 1 is repeated.
  virtual Value repeat(const Value& x, const Shape& shape) = 0;
  /// Over the last index, of which one is left.
  virtual Value mean(const Value& x) = 0;

  /// Of a list: W x + constant * bias. The shape of `weights` is outputs x inputs, or inputs x outputs if
  /// `transposed`.
  struct Dense {
    Parameters weights;
    std::optional<Parameters> bias;
    bool transposed = false;
    float constant = 1;
  };
  virtual Value dense(const Value& x, const Dense& layer) = 0;
  /// Of images, in float32. Weights: channels behind x channels before of one group x window. Group g of `groups`
  /// equal ones before is seen by group g behind.
  virtual Value convolution(const Value& x, const Parameters& weights, const Parameters& bias,
                            const WindowShape& windows, std::size_t groups) = 0;
  /// The largest number of each window, channel by channel.
  virtual Value largest_in(const Value& x, const WindowShape& windows) = 0;
  /// Its mean, in float32.
  virtual Value mean_in(const Value& x, const WindowShape& windows) = 0;
};

/// The scores, a list, that come of a list of features at parameters w.
using ScoreRecipe = std::function<ScoreWriter::Value(ScoreWriter& writer, const ScoreWriter::Value& features,
                                                     std::span<const float> w)>;

}  // namespace dpmpi
