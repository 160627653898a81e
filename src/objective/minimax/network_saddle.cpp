#include "objective/minimax/network_saddle.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace dpmpi {

NetworkSaddle::NetworkSaddle(MlpShape shape, std::unique_ptr<OutputLoss> loss, std::size_t tail)
    : shape_(std::move(shape)),
      loss_(std::move(loss)),
      tail_dim_(tail),
      pass_(shape_),
      gradient_(shape_, pass_, *loss_) {}

void NetworkSaddle::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  initialise_network(shape_, stream, w.first(shape_.dim()));
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(shape_.dim()), w.end(), tail_start());
}

void NetworkSaddle::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point has dim() coordinates");
  tail_ = w.subspan(shape_.dim());
  pass_.network().load(w);
  gradient_.prepare(tail_);
}

void NetworkSaddle::prepare_pair(std::span<const float> w, std::span<const float> v) {
  verify(w.size() == dim() && v.size() == dim(), "a point has dim() coordinates");
  if (!difference_) difference_ = std::make_unique<MlpDifference>(shape_, *loss_);
  difference_->prepare(w, v);
}

void NetworkSaddle::losses(const Rows& rows, std::span<double> out) {
  for_each_part(rows, MlpPass::rows_at_once, [&](const Rows& part, std::size_t first) {
    pass_.forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) out[first + r] = loss_of(part, r);
  });
}

void NetworkSaddle::scores(const Rows& rows, std::span<float> out) {
  for_each_part(rows, MlpPass::rows_at_once, [&](const Rows& part, std::size_t first) {
    pass_.forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) score(r, out.subspan((first + r) * outputs(), outputs()));
  });
}

void NetworkSaddle::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()),
                [&](const Rows& part, std::size_t) { gradient_.add(part, bound, sum); });
}

void NetworkSaddle::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    pass_.forward(part);
    sum.begin(part.size());
    for (std::size_t r = 0; r < part.size(); ++r) add_dual(part, r, 1, bound.clip, 0, sum);
  });
}

// The dual part needs no more than the outputs, which the pass of the gradient leaves behind. The slack is that of
// the gradient: relative to the joint bound neither block's is larger, and the product with the weight rounds to
// 2^-53.
void NetworkSaddle::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                                 LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    gradient_.add(part, {.clip = scale * clip.primal}, sum);
    for (std::size_t r = 0; r < part.size(); ++r)
      if (gradient_.kept(r)) add_dual(part, r, clip.weight, scale * clip.dual, primal_dim(), sum);
  });
}

void NetworkSaddle::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound,
                                                   LatticeAccumulator& sum) {
  verify(difference_ != nullptr, "prepare_pair comes before differences");
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()),
                [&](const Rows& part, std::size_t) { difference_->add(part, bound, sum); });
}

}  // namespace dpmpi
