#pragma once
// The generator G and the critic D of a generative adversarial network on fakes G(u), u ~ N(0, I). Nothing here can
// see a record: latents come from public streams, and the weights are those of released points. With K classes fake
// number i is of class i mod K.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/numbers/random.hpp"
#include "objective/minimax/fake_critic.hpp"
#include "objective/minimax/fake_generator.hpp"

namespace dpmpi {

/// Latents number first .. first + count - 1 of a stream: latent i is its normals from number i round_up(units, 2)
/// on, for as many units as the generator has beside those of classes.
struct Latents {
  PublicStream stream;
  std::size_t count;
  std::uint64_t first = 0;
};

/// Values at a point w = (generator, critic). All local, and the same bits on every rank.
class WganFakes {
 public:
  /// How many images are made at a time.
  static constexpr std::size_t rows_at_once = 128;

  /// The generator's outputs go through tanh; they are the critic's features. The critic has an output for each of
  /// K classes, and one for K = 0; the generator's last K inputs say which class.
  WganFakes(std::unique_ptr<FakeGenerator> generator, std::unique_ptr<FakeCritic> critic, std::size_t classes);
  const FakeGenerator& generator() const { return *generator_; }
  void load(std::span<const float> w);

  /// The mean of D(G(u)) over the latents.
  double mean_score(const Latents& latents);
  /// gradient += factor * the mean over them of grad D(G(u)) by the critic's weights.
  void add_critic_gradient(const Latents& latents, double factor, std::span<double> gradient);
  /// The same by the generator's weights.
  void add_generator_gradient(const Latents& latents, double factor, std::span<double> gradient);
  /// G(u), row after row of the critic's features.
  void generate(const Latents& latents, std::span<float> images);

 private:
  /// Calls visit(images, place of the first among the latents), part after part.
  template <class Visit>
  void for_each_part(const Latents& latents, Visit visit);
  /// The critic's output for fake number i.
  std::size_t output_of(std::uint64_t i) const { return classes_ > 0 ? static_cast<std::size_t>(i % classes_) : 0; }

  std::unique_ptr<FakeGenerator> generator_;
  std::unique_ptr<FakeCritic> critic_;
  std::size_t classes_;
  std::vector<std::size_t> own_;  ///< of each image of a part, the critic's output
  std::vector<float> scores_;     ///< likewise
};

}  // namespace dpmpi
