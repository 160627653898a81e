// Normalisation of one record's values, within groups of its channels (Wu and He 2018; all channels: Ba et al.
// 2016). Normalisation across the records of a batch would let one person's record change another's gradient.

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/kinds.hpp"

namespace dpmpi {
namespace {

/// Added to variances.
constexpr double least_variance = 1e-5;

struct NormSettings {
  std::size_t groups;
  Volume out(const Volume& in) const {
    if (in.channels % groups != 0)
      throw ConfigError(fmt::format("{} channels cannot be divided into {} equal groups", in.channels, groups));
    return in;
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const {
    using enum PairFunction;
    const auto factor = own.take(in.channels), bias = own.take(in.channels);
    const ScoreWriter::Shape image{in.channels, in.height, in.width}, list{in.channels};
    const ScoreWriter::Shape each = in.positions() == 1 ? list : ScoreWriter::Shape{in.channels, 1, 1};
    const ScoreWriter::Value grouped = writer.reshape(x, {groups, in.size() / groups});
    const ScoreWriter::Value off = writer.pair(difference, grouped, writer.mean(grouped));
    const ScoreWriter::Value variance = writer.mean(writer.pair(product, off, off));
    const ScoreWriter::Value deviation = writer.function(
        NumberFunction::root, writer.pair(sum, variance, writer.number("least_variance", least_variance)));
    const ScoreWriter::Value normalised =
        writer.reshape(writer.pair(quotient, off, deviation), in.positions() == 1 ? list : image);
    const ScoreWriter::Value scaled =
        writer.pair(product, normalised, writer.parameters({own.name("weight"), each, factor}));
    return writer.pair(sum, scaled, writer.parameters({own.name("bias"), each, bias}));
  }
};

/// Parameters: a factor and a bias for each channel. Means over a group are taken in double.
template <class T>
class NormLayer final : public Layer<T> {
 public:
  NormLayer(const NormSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        groups_(settings.groups),
        of_group_(in.channels / groups_),
        factor_(in.channels),
        bias_(in.channels),
        inverse_(groups_),
        normalised_(room_for<T>(in)),
        outputs_(room_for<T>(in)),
        back_(room_for<T>(in)) {}

  double multiply_adds() const override { return 4 * static_cast<double>(this->in().size()); }
  std::vector<ParameterGroup> groups() const override {
    const std::size_t channels = this->in().channels;
    return {{"weight", 0, channels, 1}, {"bias", channels, channels, 1}};
  }
  void initialise(std::span<float> w, bool /*rectified*/) const override {
    std::ranges::fill(w.first(this->in().channels), 1.0F);
    std::ranges::fill(w.subspan(this->in().channels), 0.0F);
  }
  void load(std::span<const T> w) override {
    for (std::size_t c = 0; c < this->in().channels; ++c) factor_[c] = w[c], bias_[c] = w[this->in().channels + c];
  }

  const T* forward(const T* in) override {
    for (std::size_t g = 0; g < groups_; ++g) {
      const double mean = mean_of(g, [&](std::size_t j, std::size_t) { return static_cast<double>(in[j]); });
      const double variance = mean_of(g, [&](std::size_t j, std::size_t) {
        const double off = static_cast<double>(in[j]) - mean;
        return off * off;
      });
      inverse_[g] = 1 / std::sqrt(variance + least_variance);
      visit(g, [&](std::size_t j, std::size_t c) {
        normalised_[j] = static_cast<T>((static_cast<double>(in[j]) - mean) * inverse_[g]);
        outputs_[j] = factor_[c] * normalised_[j] + bias_[c];
      });
    }
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    const std::size_t channels = this->in().channels;
    std::fill_n(gradient, 2 * channels, T{0});
    for (std::size_t j = 0; j < this->in().size(); ++j) {
      gradient[j % channels] += delta[j] * normalised_[j];
      gradient[channels + j % channels] += delta[j];
    }
    if (!wanted) return nullptr;
    for (std::size_t g = 0; g < groups_; ++g) {
      const auto by_normalised = [&](std::size_t j, std::size_t c) {
        return static_cast<double>(delta[j] * factor_[c]);
      };
      const double mean = mean_of(g, by_normalised);
      const double along = mean_of(g, [&](std::size_t j, std::size_t c) {
        return by_normalised(j, c) * static_cast<double>(normalised_[j]);
      });
      visit(g, [&](std::size_t j, std::size_t c) {
        back_[j] = static_cast<T>(inverse_[g] *
                                  (by_normalised(j, c) - mean - along * static_cast<double>(normalised_[j])));
      });
    }
    return back_.data();
  }

 private:
  /// Calls see(number, channel) for the numbers of a group, in their order.
  template <class See>
  void visit(std::size_t group, See&& see) const {
    for (std::size_t p = 0; p < this->in().positions(); ++p)
      for (std::size_t c = group * of_group_; c < (group + 1) * of_group_; ++c) see(p * this->in().channels + c, c);
  }
  template <class Of>
  double mean_of(std::size_t group, Of&& of) const {
    double sum = 0;
    visit(group, [&](std::size_t j, std::size_t c) { sum += of(j, c); });
    return sum / static_cast<double>(of_group_ * this->in().positions());
  }

  std::size_t groups_, of_group_;
  std::vector<T> factor_, bias_;
  std::vector<double> inverse_;  ///< of the deviations
  AlignedVector<T> normalised_, outputs_, back_;
};

}  // namespace

LayerKind group_norm_kind() {
  return {"groupnorm", "groupnorm GROUPS",
          [](LayerWords& words) { return planned<NormLayer>(NormSettings{words.number("number of groups")}); }};
}
LayerKind layer_norm_kind() {
  return {"layernorm", "layernorm", [](LayerWords&) { return planned<NormLayer>(NormSettings{1}); }};
}

}  // namespace dpmpi
