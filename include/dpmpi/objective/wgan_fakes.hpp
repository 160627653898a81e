#pragma once
// The generator G and the critic D of a generative adversarial network on fakes G(u), u ~ N(0, I). Nothing here can
// see a record: latents come from public streams, and the weights are those of released points.

#include <cstddef>
#include <cstdint>
#include <span>

#include "dpmpi/core/random.hpp"
#include "dpmpi/objective/mlp_gradient.hpp"
#include "dpmpi/objective/mlp_network.hpp"

namespace dpmpi {

/// Values at a point w = (generator, critic). Latent i of a stream is its normals from number i round_up(latent, 2)
/// on. All local, and the same bits on every rank.
class WganFakes {
 public:
  /// The generator's outputs go through tanh; they are the critic's features, and it has one output. The shapes
  /// must outlive it.
  WganFakes(const MlpShape& generator, const MlpShape& critic);
  void load(std::span<const float> w);

  /// The mean of D(G(u)) over the first `count` latents.
  double mean_score(const PublicStream& latents, std::size_t count);
  /// gradient += factor * the mean over them of grad D(G(u)) by the critic's weights.
  void add_critic_gradient(const PublicStream& latents, std::size_t count, double factor,
                           std::span<double> gradient);
  /// The same by the generator's weights.
  void add_generator_gradient(const PublicStream& latents, std::size_t count, double factor,
                              std::span<double> gradient);
  /// G(u), row after row of the critic's features.
  void generate(const PublicStream& latents, std::size_t count, std::span<float> images);

 private:
  template <class Visit>
  void for_each_part(const PublicStream& latents, std::size_t count, Visit visit);
  void score(std::size_t padded);
  void backward(std::size_t rows, std::size_t padded);
  static void add(const MlpShape& shape, const Scratch<float>& input, const MlpNetwork<float>& network,
                  LayerGradient<float>& gradient, std::size_t padded, PublicSum& sum);

  const MlpShape &generator_shape_, &critic_shape_;
  MlpNetwork<float> generator_, critic_;
  LayerGradient<float> generator_gradient_, critic_gradient_;
  PackedMatrix<float> first_layer_;  ///< of the critic, as the left operand of its features
  Scratch<float> latent_, image_;    ///< both networks' inputs
};

}  // namespace dpmpi
