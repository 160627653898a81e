// Adapters of low rank (Hu et al. 2022; under differential privacy, Yu et al. 2022): a layer keeps the weights W
// and the bias of a public model, and works with W + A B. A and B are trained. B starts at 0, so training starts at
// the public model.
//
// With G the gradient of a record by W + A B, those by A and B are G B^T and A^T G. They are formed whole, and
// their norm is taken of their own numbers, as that of every gradient here (N4).

#include "objective/layers/adapter.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

bool has_adapter(const ParameterGroup& group, const std::vector<ParameterGroup>& all) {
  if (is_of_adapter(group.name)) return false;
  const std::string of_layer = group.name.substr(0, group.name.rfind('.') + 1) + std::string(adapter_down);
  return std::ranges::find(all, of_layer, &ParameterGroup::name) != all.end();
}

namespace {

struct AdapterSettings {
  std::shared_ptr<const LayerPlan> of;
  std::size_t rank;
  WeightGradient gradient;
  std::function<std::size_t(const Volume&)> inputs;

  Volume out(const Volume& in) const {
    const Volume out = of->out(in);
    if (rank * (inputs(in) + out.channels) >= inputs(in) * out.channels)
      throw ConfigError(
          fmt::format("an adapter of rank {} has no fewer numbers than the {}x{} weights: make it smaller", rank,
                      inputs(in), out.channels));
    return out;
  }
  double numbers(const Volume& in) const {
    const auto rows = static_cast<double>(inputs(in)), cols = static_cast<double>(out(in).channels);
    return of->numbers(in) + 3 * (rows + 1) * cols + static_cast<double>(rank) * (rows + cols);
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const;
};

/// to = w + a b, for w of rows x cols.
template <class T>
void add_product(const T* w, const T* a, const T* b, std::size_t rows, std::size_t rank, std::size_t cols, T* to) {
  for (std::size_t k = 0; k < rows; ++k)
    for (std::size_t c = 0; c < cols; ++c) {
      T sum{0};
      for (std::size_t r = 0; r < rank; ++r) sum += a[k * rank + r] * b[r * cols + c];
      to[k * cols + c] = w[k * cols + c] + sum;
    }
}

// One layer at the merged weights.
ScoreWriter::Value AdapterSettings::write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                                          LayerParameters own) const {
  const std::size_t rows = inputs(in), cols = out(in).channels;
  const auto w = own.take(rows * cols), bias = own.take(cols), down = own.take(rows * rank),
             up = own.take(rank * cols);
  std::vector<float> parameters(rows * cols);
  add_product(w.data(), down.data(), up.data(), rows, rank, cols, parameters.data());
  parameters.insert(parameters.end(), bias.begin(), bias.end());
  std::span<const float> merged = parameters;
  return of->write(writer, x, in, own.with(merged));
}

/// Parameters: those of the layer, of which no gradient is made, A and B.
template <class T>
class AdaptedLayer final : public Layer<T> {
 public:
  AdaptedLayer(const AdapterSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        layer_(make_layer<T>(*settings.of, in)),
        rank_(settings.rank),
        rows_(settings.inputs(in)),
        cols_(this->out().channels),
        one_product_(settings.gradient == WeightGradient::one_product),
        merged_(layer_->parameters()),
        down_(rows_ * rank_),
        up_(rank_ * cols_),
        whole_(one_product_ ? 0 : merged_.size()),
        in_by_down_(rank_),
        up_by_delta_(rank_) {}

  double multiply_adds() const override { return layer_->multiply_adds(); }
  std::vector<ParameterGroup> groups() const override {
    std::vector<ParameterGroup> all = layer_->groups();
    all.push_back({std::string(adapter_down), merged_.size(), rows_, rank_});
    all.push_back({std::string(adapter_up), merged_.size() + down_.size(), rank_, cols_});
    return all;
  }
  /// A has the variance of weights in front of no rectifier.
  void initialise(std::span<float> w, bool rectified) const override {
    layer_->initialise(w.first(merged_.size()), rectified);
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(rows_)));
    for (float& x : w.subspan(merged_.size(), down_.size())) x *= scale;
    std::ranges::fill(w.subspan(merged_.size() + down_.size()), 0.0F);
  }
  void load(std::span<const T> w) override {
    std::ranges::copy(w.subspan(merged_.size(), down_.size()), down_.begin());
    std::ranges::copy(w.subspan(merged_.size() + down_.size()), up_.begin());
    std::ranges::copy(w.first(merged_.size()), merged_.begin());
    add_product(w.data(), down_.data(), up_.data(), rows_, rank_, cols_, merged_.data());
    layer_->load(merged_);
  }
  const T* forward(const T* in) override {
    in_values_ = in;
    return layer_->forward(in);
  }
  const T* backward(const T* delta, T* gradient, bool wanted) override {
    const T* const by_inputs = layer_->backward(delta, one_product_ ? nullptr : whole_.data(), wanted);
    T* const by_down = gradient + merged_.size();
    one_product_ ? of_product(delta, by_down, by_down + down_.size()) : of_whole(by_down, by_down + down_.size());
    return by_inputs;
  }

 private:
  /// With G = x delta^T.
  void of_product(const T* delta, T* by_down, T* by_up) {
    for (std::size_t r = 0; r < rank_; ++r) {
      T from_in{0}, from_delta{0};
      for (std::size_t k = 0; k < rows_; ++k) from_in += in_values_[k] * down_[k * rank_ + r];
      for (std::size_t c = 0; c < cols_; ++c) from_delta += up_[r * cols_ + c] * delta[c];
      in_by_down_[r] = from_in, up_by_delta_[r] = from_delta;
    }
    for (std::size_t k = 0; k < rows_; ++k)
      for (std::size_t r = 0; r < rank_; ++r) by_down[k * rank_ + r] = in_values_[k] * up_by_delta_[r];
    for (std::size_t r = 0; r < rank_; ++r)
      for (std::size_t c = 0; c < cols_; ++c) by_up[r * cols_ + c] = in_by_down_[r] * delta[c];
  }
  /// With G in whole_.
  void of_whole(T* by_down, T* by_up) const {
    std::fill_n(by_up, up_.size(), T{0});
    for (std::size_t k = 0; k < rows_; ++k)
      for (std::size_t r = 0; r < rank_; ++r) {
        T sum{0};
        for (std::size_t c = 0; c < cols_; ++c) {
          sum += whole_[k * cols_ + c] * up_[r * cols_ + c];
          by_up[r * cols_ + c] += down_[k * rank_ + r] * whole_[k * cols_ + c];
        }
        by_down[k * rank_ + r] = sum;
      }
  }

  std::unique_ptr<Layer<T>> layer_;
  std::size_t rank_, rows_, cols_;
  bool one_product_;
  std::vector<T> merged_;     ///< parameters of the layer
  std::vector<T> down_, up_;  ///< A and B
  std::vector<T> whole_;      ///< gradient by the layer's parameters
  std::vector<T> in_by_down_, up_by_delta_;
  const T* in_values_ = nullptr;
};

}  // namespace

std::shared_ptr<const LayerPlan> adapted(std::shared_ptr<const LayerPlan> plan, std::size_t rank,
                                         WeightGradient gradient,
                                         std::function<std::size_t(const Volume&)> inputs) {
  return planned<AdaptedLayer>(AdapterSettings{std::move(plan), rank, gradient, std::move(inputs)});
}

}  // namespace dpmpi
