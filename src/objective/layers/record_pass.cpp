#include "objective/layers/record_pass.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/memory.hpp"
#include "objective/copy_rows.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/clip.hpp"

namespace dpmpi {

namespace {

void check_memory_of_layers(const LayeredShape& shape, const LayerPasses& passes) {
  const auto a_number = static_cast<double>(passes.in_float * sizeof(float) + passes.in_double * sizeof(double));
  const double bytes = a_number * numbers_of(shape.plans, shape.in);
  if (bytes > static_cast<double>(available_memory()))
    throw ConfigError(fmt::format("they need about {:.3g} GB a rank, and {:.3g} GB are free: make them smaller",
                                  bytes * 1e-9, static_cast<double>(available_memory()) * 1e-9));
  if (TrainedPart(Sequence<float>(shape.plans, shape.in).groups(), shape.trained).size() == 0)
    throw ConfigError("no layer has parameters");
}

}  // namespace

void check_layers_make(const LayeredShape& shape, const Volume& image, const LayerPasses& passes) {
  const Volume out = out_of(shape.plans, shape.in);
  if (out != image && out != Volume{image.size(), 1, 1})
    throw ConfigError(fmt::format(
        "the last layer gives {} channels of {}x{} where an image has {} of {}x{}: let it give these, or a list of {}",
        out.channels, out.height, out.width, image.channels, image.height, image.width, image.size()));
  check_memory_of_layers(shape, passes);
}

void check_layers(const LayeredShape& shape, std::size_t outputs, const LayerPasses& passes) {
  const Volume out = out_of(shape.plans, shape.in);
  if (out != Volume{outputs, 1, 1})
    throw ConfigError(fmt::format(
        "the last layer gives {} channels of {}x{} where the loss takes {} number{}: {}let the last layer be dense {}",
        out.channels, out.height, out.width, outputs, outputs == 1 ? "" : "s",
        out.positions() == 1 ? "" : "flatten, and ", outputs));
  check_memory_of_layers(shape, passes);
}

std::vector<std::string> structure_of(const LayeredShape& shape) {
  const Sequence<float> network(shape.plans, shape.in);
  const TrainedPart part(network.groups(), shape.trained);
  std::vector<std::size_t> trained(network.size());
  for (const ParameterGroup& group : part.groups()) trained[std::stoul(group.name) - 1] += group.size();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < network.size(); ++i) {
    const Layer<float>& layer = network[i];
    const Volume& out = layer.out();
    std::string line = fmt::format("{}: {}", shape.plans[i].text, out.channels);
    if (out.positions() > 1) line += fmt::format("x{}x{}", out.height, out.width);
    if (layer.parameters() > 0) line += fmt::format(", {} parameters", layer.parameters());
    if (layer.multiply_adds() > 0) line += fmt::format(", {:.0f} products", layer.multiply_adds());
    if (layer.parameters() > 0 && trained[i] == 0) line += ", not trained";
    if (trained[i] > 0 && trained[i] < layer.parameters()) line += fmt::format(", {} trained", trained[i]);
    lines.push_back(std::move(line));
  }
  return lines;
}

ScoreRecipe recipe_of(const LayeredShape& shape) {
  return [&shape](ScoreWriter& writer, const ScoreWriter::Value& features, std::span<const float> w) {
    const Volume& in = shape.in;
    const bool list = in.positions() == 1;
    return write_layers(shape.plans, writer,
                        list ? features : writer.reshape(features, {in.channels, in.height, in.width}), in,
                        LayerParameters(w));
  };
}

template <class T>
RecordPass<T>::RecordPass(const LayeredShape& shape)
    : network_(shape.plans, shape.in),
      trained_(network_.groups(), shape.trained),
      whole_(trained_.is_all() ? 0 : network_.parameters()),
      outputs_(network_.out().size()),
      layers_(layers_of(trained_.in_network())),
      features_(shape.in.size() + 16),
      input_(room_for<T>(shape.in)),
      delta_(room_for<T>(network_.out())),
      gradient_(network_.parameters()) {}

template <class T>
std::vector<typename RecordPass<T>::Range> RecordPass<T>::layers_of(const std::vector<ParameterGroup>& groups) {
  std::vector<Range> ranges;
  std::string before;
  for (const ParameterGroup& group : groups) {
    const std::string layer = group.name.substr(0, group.name.rfind('.'));
    if (ranges.empty() || layer != before) ranges.push_back({group.offset, 0});
    ranges.back().size += group.size();
    before = layer;
  }
  return ranges;
}

template <class T>
double RecordPass<T>::flops() const {
  double flops = 0;
  for (std::size_t i = 0; i < network_.size(); ++i)
    flops += (i < trained_.first_layer() ? 2 : 6) * network_[i].multiply_adds();
  return flops;
}

template <class T>
std::span<const T> RecordPass<T>::whole(std::span<const T> w) {
  if (trained_.is_all()) return w;
  trained_.put(w, whole_);
  return whole_;
}

template <class T>
void RecordPass<T>::add_gradient(LatticeAccumulator& sum) const {
  trained_.for_each_run([&](std::size_t in_network, std::size_t first, std::size_t count) {
    sum.add(first, std::span<const T>(gradient_).subspan(in_network, count));
  });
}

template <class T>
void RecordPass<T>::read(const Rows& rows, std::size_t r) {
  const Volume& in = network_.in();
  verify(rows.records.features == in.size(), "records have the features that the network was made for");
  copy_rows(Rows{rows.records, rows.index.subspan(r, 1)}, features_.size(), features_.data());
  const std::span<const float> features = std::span(features_).first(in.size());
  finite_ = std::ranges::all_of(features, [](float x) { return std::isfinite(x); });
  for (std::size_t p = 0; p < in.positions(); ++p)
    for (std::size_t c = 0; c < in.channels; ++c)
      input_[p * in.channels + c] = static_cast<T>(features_[c * in.positions() + p]);
}

template <class T>
void RecordPass<T>::backward(std::span<const double> slopes) {
  for (std::size_t k = 0; k < outputs_; ++k) delta_[k] = static_cast<T>(slopes[k]);
  network_.backward_to(trained_.first_layer(), delta_.data(), gradient_.data(), false);
}

template <class T>
void RecordPass<T>::squares(std::span<double> out) const {
  for (std::size_t l = 0; l < layers_.size(); ++l)
    out[l] = squared_norm(gradient_.data() + layers_[l].first, layers_[l].size);
}

template <class T>
void RecordPass<T>::scale(std::span<const double> factors) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (factors[l] == 1) continue;
    const T factor = scaled(T(1), static_cast<T>(factors[l]));
    for (T& x : std::span(gradient_).subspan(layers_[l].first, layers_[l].size)) x = scaled(x, factor);
  }
}

template class RecordPass<float>;
template class RecordPass<double>;

}  // namespace dpmpi
