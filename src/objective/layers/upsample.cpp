// Layers that make images larger, and images of lists, as generators need them.

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/kinds.hpp"

namespace dpmpi {
namespace {

struct UpsampleSettings {
  std::size_t factor;
  Volume out(const Volume& in) const { return {in.channels, factor * in.height, factor * in.width}; }
  // A number comes out factor^2 times.
  SlopeBound slope_bound(const Volume& /*in*/, double /*radius*/) const {
    return {.factor = static_cast<double>(factor)};
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           const LayerParameters& /*own*/) const {
    const ScoreWriter::Value larger = writer.repeat(writer.reshape(x, {in.channels, in.height, 1, in.width, 1}),
                                                    {in.channels, in.height, factor, in.width, factor});
    const Volume behind = out(in);
    return writer.reshape(larger, behind.positions() == 1
                                      ? ScoreWriter::Shape{behind.channels}
                                      : ScoreWriter::Shape{behind.channels, behind.height, behind.width});
  }
};

/// Each number becomes a square of factor x factor equal ones.
template <class T>
class UpsampleLayer final : public Layer<T> {
 public:
  UpsampleLayer(const UpsampleSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        factor_(settings.factor),
        outputs_(room_for<T>(this->out())),
        back_(room_for<T>(in)) {}

  const T* forward(const T* in) override {
    for_each_copy([&](std::size_t from, std::size_t to) {
      std::copy_n(in + from, this->in().channels, outputs_.data() + to);
    });
    return outputs_.data();
  }
  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    std::ranges::fill(back_, T{0});
    for_each_copy([&](std::size_t from, std::size_t to) {
      for (std::size_t c = 0; c < this->in().channels; ++c) back_[from + c] += delta[to + c];
    });
    return back_.data();
  }

 private:
  /// Calls visit(where the channels stand before, where they stand behind) for each position behind.
  template <class Visit>
  void for_each_copy(Visit&& visit) const {
    const Volume &in = this->in(), &out = this->out();
    for (std::size_t y = 0; y < out.height; ++y)
      for (std::size_t x = 0; x < out.width; ++x)
        visit((y / factor_ * in.width + x / factor_) * in.channels, (y * out.width + x) * in.channels);
  }

  std::size_t factor_;
  AlignedVector<T> outputs_, back_;
};

struct UnflattenSettings {
  Volume image;
  Volume out(const Volume& in) const {
    if (in.positions() != 1)
      throw ConfigError(fmt::format("it takes a list of numbers, and there are {} channels of {}x{}", in.channels,
                                    in.height, in.width));
    if (in.channels != image.size())
      throw ConfigError(fmt::format("an image of {} channels of {}x{} has {} numbers, and {} come in",
                                    image.channels, image.height, image.width, image.size(), in.channels));
    return image;
  }
  SlopeBound slope_bound(const Volume& /*in*/, double /*radius*/) const { return {}; }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& /*in*/,
                           const LayerParameters& /*own*/) const {
    return image.positions() == 1 ? x : writer.reshape(x, {image.channels, image.height, image.width});
  }
};

/// What flatten made a list of: channel after channel, and in each position after position.
template <class T>
class UnflattenLayer final : public Layer<T> {
 public:
  UnflattenLayer(const UnflattenSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)), outputs_(room_for<T>(this->out())), back_(room_for<T>(in)) {}
  const T* forward(const T* in) override {
    for_each_number([&](std::size_t listed, std::size_t placed) { outputs_[placed] = in[listed]; });
    return outputs_.data();
  }
  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    for_each_number([&](std::size_t listed, std::size_t placed) { back_[listed] = delta[placed]; });
    return back_.data();
  }

 private:
  template <class Visit>
  void for_each_number(Visit&& visit) const {
    const Volume& image = this->out();
    for (std::size_t p = 0; p < image.positions(); ++p)
      for (std::size_t c = 0; c < image.channels; ++c) visit(c * image.positions() + p, p * image.channels + c);
  }

  AlignedVector<T> outputs_, back_;
};

}  // namespace

LayerKind upsample_kind() {
  return {"upsample", "upsample FACTOR",
          [](LayerWords& words) { return planned<UpsampleLayer>(UpsampleSettings{words.number("factor")}); }};
}
LayerKind unflatten_kind() {
  return {"unflatten", "unflatten CHANNELSxHEIGHTxWIDTH",
          [](LayerWords& words) { return planned<UnflattenLayer>(UnflattenSettings{words.image("shape")}); }};
}

}  // namespace dpmpi
