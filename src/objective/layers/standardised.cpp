// Weight standardisation (Qiao, Wang, Liu, Shen and Yuille 2019), scaled as Brock, De and Smith (2021) do: of the n
// weights w of an output are made (w - mean) / sqrt(n (variance + least)), a vector of mean 0 and length 1.
//
// They are a function of the parameters alone. So at a point the derivative by w is one linear map J for all
// records, and a record's gradient by w is J^T times that by the standardised weights. Like every gradient here it
// is formed whole before its norm is taken of its own numbers and it is clipped: nothing is added to the slack
// (N4).

#include "objective/layers/standardised.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// Added to variances.
constexpr double least_weight_variance = 1e-8;

/// The columns of a rows x cols matrix. Sums are taken in double.
class StandardColumns {
 public:
  StandardColumns(std::size_t rows, std::size_t cols) : rows_(rows), inverse_(cols), sum_(cols), along_(cols) {}

  /// Writes the standardised matrix; T: float or double.
  template <class T>
  void make(const T* w, T* to) {
    column_sums(sum_, [&](std::size_t j, std::size_t) { return static_cast<double>(w[j]); });
    const auto n = static_cast<double>(rows_);
    const auto off = [&](std::size_t j, std::size_t c) { return static_cast<double>(w[j]) - sum_[c] / n; };
    column_sums(inverse_, [&](std::size_t j, std::size_t c) { return off(j, c) * off(j, c); });
    for (double& x : inverse_) x = 1 / std::sqrt(x + n * least_weight_variance);
    visit([&](std::size_t j, std::size_t c) { to[j] = static_cast<T>(off(j, c) * inverse_[c]); });
  }

  /// A gradient by the matrix `made` becomes one by what it was made of: with u made of w, and r over its deviation
  /// times sqrt(n), du_k / dw_j = r ([k = j] - 1 / n - u_k u_j).
  template <class T>
  void pull_back(const T* made, T* gradient) {
    column_sums(sum_, [&](std::size_t j, std::size_t) { return static_cast<double>(gradient[j]); });
    column_sums(along_, [&](std::size_t j, std::size_t) {
      return static_cast<double>(gradient[j]) * static_cast<double>(made[j]);
    });
    const auto n = static_cast<double>(rows_);
    visit([&](std::size_t j, std::size_t c) {
      const double own = static_cast<double>(gradient[j]) - sum_[c] / n;
      gradient[j] = static_cast<T>(inverse_[c] * (own - along_[c] * static_cast<double>(made[j])));
    });
  }

 private:
  /// Calls see(number, column) row by row.
  template <class See>
  void visit(See&& see) const {
    for (std::size_t k = 0, j = 0; k < rows_; ++k)
      for (std::size_t c = 0; c < inverse_.size(); ++c, ++j) see(j, c);
  }
  template <class Of>
  void column_sums(std::vector<double>& sums, Of&& of) const {
    std::ranges::fill(sums, 0.0);
    visit([&](std::size_t j, std::size_t c) { sums[c] += of(j, c); });
  }

  std::size_t rows_;
  std::vector<double> inverse_;  ///< of the deviations, over sqrt(rows)
  std::vector<double> sum_, along_;
};

struct StandardisedSettings {
  std::shared_ptr<const LayerPlan> of;
  std::function<std::size_t(const Volume&)> inputs;

  Volume out(const Volume& in) const {
    const Volume out = of->out(in);
    if (inputs(in) < 2)
      throw ConfigError(
          "each output has a single weight, of which standardised ones would be 0: take several inputs");
    return out;
  }
  double numbers(const Volume& in) const {
    return of->numbers(in) + (static_cast<double>(inputs(in)) + 4) * static_cast<double>(out(in).channels);
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const {
    const std::size_t rows = inputs(in), cols = out(in).channels;
    const auto raw = own.take(rows * cols), bias = own.take(cols);
    std::vector<float> parameters(raw.size());
    StandardColumns(rows, cols).make(raw.data(), parameters.data());
    parameters.insert(parameters.end(), bias.begin(), bias.end());
    std::span<const float> made = parameters;
    return of->write(writer, x, in, own.with(made));
  }
};

template <class T>
class StandardisedLayer final : public Layer<T> {
 public:
  StandardisedLayer(const StandardisedSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        layer_(make_layer<T>(*settings.of, in)),
        columns_(settings.inputs(in), this->out().channels),
        parameters_(layer_->parameters()) {}

  double multiply_adds() const override { return layer_->multiply_adds(); }
  std::vector<ParameterGroup> groups() const override { return layer_->groups(); }
  void initialise(std::span<float> w, bool rectified) const override { layer_->initialise(w, rectified); }
  void load(std::span<const T> w) override {
    std::ranges::copy(w, parameters_.begin());
    columns_.make(w.data(), parameters_.data());
    layer_->load(parameters_);
  }
  const T* forward(const T* in) override { return layer_->forward(in); }
  const T* backward(const T* delta, T* gradient, bool wanted) override {
    const T* const by_inputs = layer_->backward(delta, gradient, wanted);
    columns_.pull_back(parameters_.data(), gradient);
    return by_inputs;
  }

 private:
  std::unique_ptr<Layer<T>> layer_;
  StandardColumns columns_;
  std::vector<T> parameters_;  ///< of the layer
};

}  // namespace

std::shared_ptr<const LayerPlan> standardised(std::shared_ptr<const LayerPlan> plan,
                                              std::function<std::size_t(const Volume&)> inputs) {
  return planned<StandardisedLayer>(StandardisedSettings{std::move(plan), std::move(inputs)});
}

}  // namespace dpmpi
