#include "objective/network/mlp.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "objective/network/head.hpp"
#include "objective/network/means.hpp"
#include "objective/network/network.hpp"
#include "objective/network/pass.hpp"
#include "objective/network/probe.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t micro_rows = MlpPass::rows_at_once;

class Mlp final : public Objective,
                  public PointValues,
                  public GradientKernel,
                  public GradientMeans,
                  public GradientNorms,
                  public PointInParts,
                  public LossPairs {
 public:
  explicit Mlp(MlpShape shape)
      : shape_(std::move(shape)),
        head_(shape_),
        loss_of_score_(scalar_loss_of(shape_.head, shape_.class_weights)),
        pass_(shape_),
        network_(pass_.network()),
        gradient_(shape_, pass_, head_),
        means_(shape_, pass_, gradient_) {}

  std::size_t dim() const override { return shape_.dim(); }
  LabelKind label_kind() const override { return labels_of(shape_.head); }
  std::size_t classes() const override { return shape_.head == Head::softmax ? outputs() : 0; }
  std::size_t outputs() const override { return shape_.units.back(); }
  bool scores_are_logits() const override { return shape_.head == Head::softmax || shape_.head == Head::logistic; }
  const ScalarLoss* loss_of_score() const override { return loss_of_score_.get(); }
  const ClassWeights& class_weights() const override { return shape_.class_weights; }
  RecordFactors heeds() const override { return {.weight = true}; }
  LossForm form() const override {
    return shape_.layers() == 1 && shape_.head == Head::softmax ? LossForm(SoftmaxForm()) : AnyForm();
  }
  std::vector<ParameterGroup> groups() const override { return network_groups(shape_); }
  ScoreRecipe score_recipe() const override { return recipe_of(score_layers_of(shape_), groups()); }
  double flops_per_record() const override { return network_flops(shape_); }
  std::size_t micro_batch_rows() const override { return micro_rows; }
  void initialise(const PublicStream& stream, std::span<float> w) const override {
    initialise_network(shape_, stream, w);
  }

  NumericSlack gradient_slack() const override {
    NumericSlack slack = gradient_.slack();
    slack.summed_persons = persons_at_once;
    return slack;
  }

 protected:
  Capabilities capabilities() override {
    return {.values = this, .gradients = this, .means = this, .norms = this, .parts = this, .pairs = this};
  }

 private:
  void prepare(std::span<const float> w) override;
  void prepare_part(std::size_t first, std::span<const float> part) override { network_.load_part(first, part); }
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  std::span<const std::uint32_t> add_clipped_means(const Persons& persons, const MeanBound& bound,
                                                   LatticeAccumulator& sum) override {
    return means_.add(persons, bound, sum);
  }
  void gradient_norms(const Rows& rows, std::span<double> out) override;
  void prepare_probes(std::span<const double> x, std::span<const double> y) override;
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override;

  MlpShape shape_;
  MlpHead head_;
  std::unique_ptr<ScalarLoss> loss_of_score_;
  MlpPass pass_;
  MlpNetwork<float>& network_;
  MlpClippedGradient gradient_;
  MlpClippedMeans means_;
  std::unique_ptr<MlpProbe> probe_;
  std::span<const float> w_;
};

void Mlp::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point has dim() coordinates");
  w_ = w;
  network_.load(w);
}

void Mlp::losses(const Rows& rows, std::span<double> out) {
  for_each_part(rows, micro_rows, [&](const Rows& part, std::size_t first) {
    pass_.forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) out[first + r] = head_.loss(pass_.outputs(r), label(part, r));
  });
}

void Mlp::scores(const Rows& rows, std::span<float> out) {
  for_each_part(rows, micro_rows, [&](const Rows& part, std::size_t first) {
    pass_.forward(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      std::copy_n(pass_.outputs(r), outputs(), out.data() + (first + r) * outputs());
  });
}

void Mlp::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(micro_rows, sum.rows_at_once()),
                [&](const Rows& part, std::size_t) { gradient_.add(part, bound, sum); });
}

void Mlp::gradient_norms(const Rows& rows, std::span<double> out) {
  for_each_part(rows, micro_rows, [&](const Rows& part, std::size_t first) {
    gradient_.norms(part, out.subspan(first, part.size()));
  });
}

void Mlp::prepare_probes(std::span<const double> x, std::span<const double> y) {
  if (!probe_) probe_ = std::make_unique<MlpProbe>(shape_);
  probe_->prepare(x, y);
}

void Mlp::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                std::span<double> down) {
  verify(probe_ != nullptr, "prepare_probes comes before probes");
  probe_->losses(row, radius, tile, up, down);
}

}  // namespace

std::unique_ptr<Objective> make_mlp(MlpShape shape) {
  check_units(shape);
  const std::size_t classes = shape.head == Head::softmax ? shape.units.back() : 2;
  verify(
      shape.class_weights.empty() || (!is_quantity(labels_of(shape.head)) && shape.class_weights.size() == classes),
      "a weight for each class of a head that has classes");
  return std::make_unique<Mlp>(std::move(shape));
}

}  // namespace dpmpi
