#include "objective/minimax/wgan_fakes.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t fakes_at_once = 128;

}  // namespace

WganFakes::WganFakes(const MlpShape& generator, const MlpShape& critic, std::size_t classes)
    : generator_shape_(generator),
      critic_shape_(critic),
      classes_(classes),
      generator_(generator, fakes_at_once),
      critic_(critic, fakes_at_once),
      generator_gradient_(generator, fakes_at_once),
      critic_gradient_(critic, fakes_at_once),
      first_layer_(critic.outputs(0), generator.width(generator.layers())),
      latent_(fakes_at_once, generator.width(0)),
      image_(fakes_at_once, critic.width(0)) {
  verify(generator.units.back() == critic.units.front() && generator.units.front() > classes &&
             critic.units.back() == std::max<std::size_t>(1, classes),
         "the critic scores what the generator makes");
  for (std::size_t r = 0; r < fakes_at_once; ++r) {
    if (generator.has_bias(0)) latent_.row(r)[generator.inputs(0)] = generator.bias(0);
    if (critic.has_bias(0)) image_.row(r)[critic.inputs(0)] = critic.bias(0);
  }
}

void WganFakes::load(std::span<const float> w) {
  verify(w.size() == generator_shape_.dim() + critic_shape_.dim(), "a point has both networks' weights");
  const auto critic = w.subspan(generator_shape_.dim());
  generator_.load(w.first(generator_shape_.dim()));
  critic_.load(critic);
  first_layer_.set(critic.data(), critic_shape_.outputs(0), critic_shape_.inputs(0));
}

/// visit(place of the first, rows, padded rows) with images in image_, part after part.
template <class Visit>
void WganFakes::for_each_part(const Latents& latents, Visit visit) {
  const std::size_t units = generator_shape_.inputs(0) - classes_, last = generator_shape_.layers();
  for (std::size_t first = 0; first < latents.count; first += fakes_at_once) {
    const std::size_t rows = std::min(fakes_at_once, latents.count - first), padded = round_up(rows, 16);
    number_ = latents.first + first;
    for (std::size_t r = 0; r < rows; ++r) {
      latents.stream.normals((number_ + r) * round_up(units, 2), std::span(latent_.row(r), units));
      std::fill_n(latent_.row(r) + units, classes_, 0.0F);
      if (classes_ > 0) latent_.row(r)[units + output_of(number_ + r)] = 1;
    }
    generator_.forward(latent_, padded);
    Scratch<float>& outputs = generator_.level(last);
    apply(Activation::tanh, outputs.row(0), padded * outputs.width);
    for (std::size_t r = 0; r < padded; ++r) std::copy_n(outputs.row(r), critic_shape_.inputs(0), image_.row(r));
    visit(first, rows, padded);
  }
}

void WganFakes::score(std::size_t padded) { critic_.forward(image_, padded); }

/// Deltas of the critic for a gradient of 1 by each row's score.
void WganFakes::backward(std::size_t rows, std::size_t padded) {
  score(padded);
  Scratch<float>& delta = critic_.delta(critic_shape_.layers());
  for (std::size_t r = 0; r < padded; ++r) {
    std::fill_n(delta.row(r), critic_shape_.units.back(), 0.0F);
    if (r < rows) delta.row(r)[output_of(number_ + r)] = 1;
  }
  critic_.backward(padded);
}

void WganFakes::add(const MlpShape& shape, const Scratch<float>& input, const MlpNetwork<float>& network,
                    LayerGradient<float>& gradient, std::size_t padded, PublicSum& sum) {
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    const OuterProducts<float> term{network.delta(l + 1), l == 0 ? input : network.level(l)};
    gradient.add(l, {&term, 1}, padded, sum);
  }
}

double WganFakes::mean_score(const Latents& latents) {
  double total = 0;
  for_each_part(latents, [&](std::size_t, std::size_t rows, std::size_t padded) {
    score(padded);
    for (std::size_t r = 0; r < rows; ++r)
      total += static_cast<double>(critic_.level(critic_shape_.layers()).row(r)[output_of(number_ + r)]);
  });
  return total / static_cast<double>(latents.count);
}

void WganFakes::add_critic_gradient(const Latents& latents, double factor, std::span<double> gradient) {
  PublicSum sum{gradient, factor / static_cast<double>(latents.count)};
  for_each_part(latents, [&](std::size_t, std::size_t rows, std::size_t padded) {
    backward(rows, padded);
    add(critic_shape_, image_, critic_, critic_gradient_, padded, sum);
  });
}

void WganFakes::add_generator_gradient(const Latents& latents, double factor, std::span<double> gradient) {
  PublicSum sum{gradient, factor / static_cast<double>(latents.count)};
  const std::size_t last = generator_shape_.layers();
  for_each_part(latents, [&](std::size_t, std::size_t rows, std::size_t padded) {
    backward(rows, padded);
    Scratch<float>&images = generator_.level(last), &delta = generator_.delta(last);
    first_layer_.multiply(critic_.delta(1), padded, delta);
    apply_derivative(Activation::tanh, images.row(0), delta.row(0), padded * delta.width);
    generator_.backward(padded);
    add(generator_shape_, latent_, generator_, generator_gradient_, padded, sum);
  });
}

void WganFakes::generate(const Latents& latents, std::span<float> images) {
  const std::size_t features = critic_shape_.inputs(0);
  verify(images.size() == latents.count * features, "there is room for the images");
  for_each_part(latents, [&](std::size_t first, std::size_t rows, std::size_t) {
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(image_.row(r), features, images.data() + (first + r) * features);
  });
}

}  // namespace dpmpi
