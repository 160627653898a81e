#include "objective/layers/conv_settings.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

Volume ConvSettings::out(const Volume& in) const {
  if (in.channels % groups != 0)
    throw ConfigError(
        fmt::format("{} channels come in, which cannot be divided into {} equal groups", in.channels, groups));
  return windows.out(in, channels);
}

double ConvSettings::numbers(const Volume& in) const {
  const double inputs = static_cast<double>(windows.positions()) * static_cast<double>(in.channels) /
                            static_cast<double>(groups) +
                        16,
               outputs = static_cast<double>(channels) / static_cast<double>(groups) + 16;
  return 2 * static_cast<double>(out(in).positions() + 16) * (inputs + outputs) +
         4 * inputs * outputs * static_cast<double>(groups);
}

ScoreWriter::Value ConvSettings::write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                                       LayerParameters own) const {
  const std::size_t before = in.channels / groups;
  const auto here = own.take(inputs(in) * channels), bias = own.take(channels);
  std::vector<float> weights(here.size());  // channels behind x channels before x window
  for (std::size_t at = 0; at < windows.positions(); ++at)
    for (std::size_t k = 0; k < before; ++k)
      for (std::size_t c = 0; c < channels; ++c)
        weights[(c * before + k) * windows.positions() + at] = here[(at * before + k) * channels + c];
  return windows.write(writer, x, in, out(in), [&](const ScoreWriter::Value& image, const WindowShape& shape) {
    return writer.convolution(image,
                              {own.name("weight"), {channels, before, windows.height, windows.width}, weights},
                              {own.name("bias"), {channels}, bias}, shape, groups);
  });
}

std::vector<ParameterGroup> ConvSettings::parameters(const Volume& in) const {
  return {{"weight", 0, inputs(in), channels}, {"bias", inputs(in) * channels, channels, 1}};
}

void ConvSettings::initialise(std::span<float> w, const Volume& in, bool rectified) const {
  const auto scale = static_cast<float>(std::sqrt((rectified ? 2.0 : 1.0) / static_cast<double>(inputs(in))));
  for (float& weight : w.first(inputs(in) * channels)) weight *= scale;
  std::ranges::fill(w.subspan(inputs(in) * channels), 0.0F);
}

}  // namespace dpmpi
