// The multilayer perceptron of min-max problems.

#include "core/errors.hpp"
#include "objective/minimax/saddle_network.hpp"
#include "objective/network/difference.hpp"
#include "objective/network/pass.hpp"
#include "objective/score_layers.hpp"

namespace dpmpi {
namespace {

class Perceptron final : public SaddleNetwork {
 public:
  Perceptron(MlpShape shape, OutputLoss& loss)
      : shape_(std::move(shape)), loss_(loss), pass_(shape_), gradient_(shape_, pass_, loss) {}

  std::size_t dim() const override { return shape_.dim(); }
  std::size_t outputs() const override { return shape_.units.back(); }
  std::size_t rows_at_once() const override { return MlpPass::rows_at_once; }
  double flops() const override { return network_flops(shape_); }
  std::vector<ParameterGroup> groups() const override { return network_groups(shape_); }
  ScoreRecipe score_recipe() const override { return recipe_of(score_layers_of(shape_), groups()); }
  void initialise(const PublicStream& stream, std::span<float> weights, std::uint64_t first) const override {
    initialise_network(shape_, stream, weights, first);
  }
  NumericSlack gradient_slack() const override { return gradient_.slack(); }
  NumericSlack difference_slack() const override { return MlpDifference::slack(); }

  void load(std::span<const float> weights, std::span<const float> tail) override {
    pass_.network().load(weights);
    gradient_.prepare(tail);
  }
  void load_pair(std::span<const float> w, std::span<const float> v) override {
    if (!difference_) difference_ = std::make_unique<MlpDifference>(shape_, loss_);
    difference_->prepare(w, v);
  }
  void forward(const Rows& rows) override { pass_.forward(rows); }
  void add_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    gradient_.add(rows, bound, sum);
  }
  const float* outputs_of(std::size_t row, std::size_t /*copy*/) const override { return pass_.outputs(row); }
  bool kept(std::size_t row) const override { return gradient_.kept(row); }
  void add_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    verify(difference_ != nullptr, "load_pair comes before differences");
    difference_->add(rows, bound, sum);
  }

 private:
  MlpShape shape_;
  OutputLoss& loss_;
  MlpPass pass_;
  MlpClippedGradient gradient_;
  std::unique_ptr<MlpDifference> difference_;
};

}  // namespace

SaddleNetworkMaker perceptron(MlpShape shape) {
  return [shape = std::move(shape)](OutputLoss& loss) { return std::make_unique<Perceptron>(shape, loss); };
}

}  // namespace dpmpi
