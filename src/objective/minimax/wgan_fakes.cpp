#include "objective/minimax/wgan_fakes.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "objective/network/network.hpp"

namespace dpmpi {

WganFakes::WganFakes(std::unique_ptr<FakeGenerator> generator, std::unique_ptr<FakeCritic> critic,
                     std::size_t classes)
    : generator_(std::move(generator)),
      critic_(std::move(critic)),
      classes_(classes),
      own_(rows_at_once),
      scores_(rows_at_once) {
  verify(generator_->features() == critic_->features() && generator_->inputs() > classes &&
             critic_->outputs() == std::max<std::size_t>(1, classes),
         "the critic scores what the generator makes");
}

void WganFakes::load(std::span<const float> w) {
  verify(w.size() == generator_->dim() + critic_->dim(), "a point has both networks' weights");
  generator_->load(w.first(generator_->dim()));
  critic_->load(w.subspan(generator_->dim()));
}

template <class Visit>
void WganFakes::for_each_part(const Latents& latents, Visit visit) {
  const std::size_t units = generator_->inputs() - classes_;
  Scratch<float>& all = generator_->latents();
  for (std::size_t first = 0; first < latents.count; first += rows_at_once) {
    const std::span own = std::span(own_).first(std::min(rows_at_once, latents.count - first));
    const std::uint64_t number = latents.first + first;
    for (std::size_t r = 0; r < own.size(); ++r) {
      own[r] = output_of(number + r);
      latents.stream.normals((number + r) * round_up(units, 2), std::span(all.row(r), units));
      std::fill_n(all.row(r) + units, classes_, 0.0F);
      if (classes_ > 0) all.row(r)[units + own[r]] = 1;
    }
    Scratch<float>& pixels = generator_->images();
    const FakeImages images{pixels, own};
    generator_->forward(own.size());
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
  for_each_part(latents, [&](const FakeImages& images, std::size_t) {
    Scratch<float>& slopes = generator_->slopes();
    critic_->slopes(images, slopes);
    apply_derivative(Activation::tanh, images.pixels.row(0), slopes.row(0), images.padded() * slopes.width);
    generator_->add_gradients(images.count(), sum);
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
