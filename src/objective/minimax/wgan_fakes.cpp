#include "objective/minimax/wgan_fakes.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace dpmpi {

WganFakes::WganFakes(const MlpShape& generator, std::unique_ptr<FakeCritic> critic, std::size_t classes)
    : generator_shape_(generator),
      classes_(classes),
      critic_(std::move(critic)),
      generator_(generator, rows_at_once),
      generator_gradient_(generator, rows_at_once),
      latent_(rows_at_once, generator.width(0)),
      own_(rows_at_once),
      scores_(rows_at_once) {
  verify(generator.units.back() == critic_->features() && generator.units.front() > classes &&
             critic_->outputs() == std::max<std::size_t>(1, classes),
         "the critic scores what the generator makes");
  for (std::size_t r = 0; generator.has_bias(0) && r < rows_at_once; ++r)
    latent_.row(r)[generator.inputs(0)] = generator.bias(0);
}

void WganFakes::load(std::span<const float> w) {
  verify(w.size() == generator_shape_.dim() + critic_->dim(), "a point has both networks' weights");
  generator_.load(w.first(generator_shape_.dim()));
  critic_->load(w.subspan(generator_shape_.dim()));
}

template <class Visit>
void WganFakes::for_each_part(const Latents& latents, Visit visit) {
  const std::size_t units = generator_shape_.inputs(0) - classes_, last = generator_shape_.layers();
  for (std::size_t first = 0; first < latents.count; first += rows_at_once) {
    const std::span own = std::span(own_).first(std::min(rows_at_once, latents.count - first));
    const std::uint64_t number = latents.first + first;
    for (std::size_t r = 0; r < own.size(); ++r) {
      own[r] = output_of(number + r);
      latents.stream.normals((number + r) * round_up(units, 2), std::span(latent_.row(r), units));
      std::fill_n(latent_.row(r) + units, classes_, 0.0F);
      if (classes_ > 0) latent_.row(r)[units + own[r]] = 1;
    }
    Scratch<float>& pixels = generator_.level(last);
    const FakeImages images{pixels, own};
    generator_.forward(latent_, images.padded());
    apply(Activation::tanh, pixels.row(0), images.padded() * pixels.width);
    visit(images, first);
  }
}

double WganFakes::mean_score(const Latents& latents) {
  double total = 0;
  for_each_part(latents, [&](const FakeImages& images, std::size_t) {
    critic_->score(images, scores_);
    for (std::size_t r = 0; r < images.count(); ++r) total += static_cast<double>(scores_[r]);
  });
  return total / static_cast<double>(latents.count);
}

void WganFakes::add_critic_gradient(const Latents& latents, double factor, std::span<double> gradient) {
  PublicSum sum{gradient, factor / static_cast<double>(latents.count)};
  for_each_part(latents, [&](const FakeImages& images, std::size_t) { critic_->add_gradients(images, sum); });
}

void WganFakes::add_generator_gradient(const Latents& latents, double factor, std::span<double> gradient) {
  PublicSum sum{gradient, factor / static_cast<double>(latents.count)};
  const std::size_t last = generator_shape_.layers();
  for_each_part(latents, [&](const FakeImages& images, std::size_t) {
    Scratch<float>& delta = generator_.delta(last);
    critic_->slopes(images, delta);
    apply_derivative(Activation::tanh, images.pixels.row(0), delta.row(0), images.padded() * delta.width);
    generator_.backward(images.padded());
    for (std::size_t l = 0; l < last; ++l) {
      const OuterProducts<float> term{generator_.delta(l + 1), l == 0 ? latent_ : generator_.level(l)};
      generator_gradient_.add(l, {&term, 1}, images.padded(), sum);
    }
  });
}

void WganFakes::generate(const Latents& latents, std::span<float> images) {
  const std::size_t features = critic_->features();
  verify(images.size() == latents.count * features, "there is room for the images");
  for_each_part(latents, [&](const FakeImages& made, std::size_t first) {
    for (std::size_t r = 0; r < made.count(); ++r)
      std::copy_n(made.pixels.row(r), features, images.data() + (first + r) * features);
  });
}

}  // namespace dpmpi
