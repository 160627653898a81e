#include "objective/minimax/network_saddle.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {

NetworkSaddle::NetworkSaddle(const SaddleNetworkMaker& network, std::unique_ptr<OutputLoss> loss, std::size_t tail)
    : loss_(std::move(loss)), network_(network(*loss_)), tail_dim_(tail) {}

void NetworkSaddle::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  network_->initialise(stream, w.first(network_->dim()), 0);
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(network_->dim()), w.end(), tail_start());
}

void NetworkSaddle::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point has dim() coordinates");
  tail_ = w.subspan(network_->dim());
  network_->load(w.first(network_->dim()), tail_);
}

void NetworkSaddle::prepare_pair(std::span<const float> w, std::span<const float> v) {
  verify(w.size() == dim() && v.size() == dim(), "a point has dim() coordinates");
  network_->load_pair(w, v);
}

/// Calls kernel(part, its first row) for as many rows as the network takes at once, and `at_most` as many.
template <class Kernel>
void NetworkSaddle::for_each_batch(const Rows& rows, std::size_t at_most, Kernel&& kernel) {
  for_each_part(rows, std::min(network_->rows_at_once(), at_most), kernel);
}

void NetworkSaddle::losses(const Rows& rows, std::span<double> out) {
  for_each_batch(rows, rows.size(), [&](const Rows& part, std::size_t first) {
    network_->forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) out[first + r] = loss_of(part, r);
  });
}

void NetworkSaddle::scores(const Rows& rows, std::span<float> out) {
  for_each_batch(rows, rows.size(), [&](const Rows& part, std::size_t first) {
    network_->forward(part);
    for (std::size_t r = 0; r < part.size(); ++r) score(r, out.subspan((first + r) * outputs(), outputs()));
  });
}

void NetworkSaddle::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_batch(rows, sum.rows_at_once(),
                 [&](const Rows& part, std::size_t) { network_->add_gradients(part, bound, sum); });
}

void NetworkSaddle::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_batch(rows, sum.rows_at_once(), [&](const Rows& part, std::size_t) {
    network_->forward_copies(part);
    sum.begin(part.size());
    for (std::size_t r = 0; r < part.size(); ++r) add_dual(part, r, 1, bound.clip, 0, sum);
  });
}

// The dual part needs no more than the outputs, which the pass of the gradient leaves behind. The slack is that of
// the gradient: relative to the joint bound neither block's is larger, and the product with the weight rounds to
// 2^-53.
void NetworkSaddle::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                                 LatticeAccumulator& sum) {
  for_each_batch(rows, sum.rows_at_once(), [&](const Rows& part, std::size_t) {
    network_->add_gradients(part, {.clip = scale * clip.primal}, sum);
    for (std::size_t r = 0; r < part.size(); ++r)
      if (network_->kept(r)) add_dual(part, r, clip.weight, scale * clip.dual, primal_dim(), sum);
  });
}

void NetworkSaddle::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound,
                                                   LatticeAccumulator& sum) {
  for_each_batch(rows, sum.rows_at_once(),
                 [&](const Rows& part, std::size_t) { network_->add_differences(part, bound, sum); });
}

}  // namespace dpmpi
