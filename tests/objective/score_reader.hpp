#pragma once
// What a ScoreWriter is told, computed at once, in double: what a model says of its scores, against what it does.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "objective/score_writer.hpp"

namespace dpmpi::test {

class ScoreReader final : public ScoreWriter {
 public:
  struct Array {
    Shape shape;
    std::vector<double> numbers;
  };

  Value keep(Array array) {
    const Value name = std::to_string(arrays_.size());
    arrays_[name] = std::move(array);
    return name;
  }
  const Array& operator[](const Value& name) const { return arrays_.at(name); }
  std::vector<std::string> names;  ///< of parameters, in the order in which they were told

  Value number(std::string_view /*name*/, double x) override { return keep({{1}, {x}}); }
  Value parameters(const Parameters& p) override {
    names.push_back(p.name);
    return keep({p.shape, {p.values.begin(), p.values.end()}});
  }
  Value function(NumberFunction of, const Value& x) override {
    Array y = (*this)[x];
    for (double& v : y.numbers) v = value_of(of, v);
    return keep(std::move(y));
  }
  Value pair(PairFunction of, const Value& a, const Value& b) override {
    const Array &x = (*this)[a], &y = (*this)[b];
    Array out{{}, {}};
    const std::size_t sizes = std::max(x.shape.size(), y.shape.size());
    for (std::size_t s = 0; s < sizes; ++s)
      out.shape.push_back(std::max(size_at(x.shape, s, sizes), size_at(y.shape, s, sizes)));
    for (std::size_t j = 0; j < count_of(out.shape); ++j)
      out.numbers.push_back(value_of(of, repeated(x, out.shape, j), repeated(y, out.shape, j)));
    return keep(std::move(out));
  }
  Value reshape(const Value& x, const Shape& shape) override {
    if (count_of(shape) != (*this)[x].numbers.size()) throw std::logic_error("another number of numbers");
    return keep({shape, (*this)[x].numbers});
  }
  Value repeat(const Value& x, const Shape& shape) override {
    const Array from = (*this)[x];
    if (from.shape.size() != shape.size()) throw std::logic_error("another number of sizes");
    Array out{shape, {}};
    for (std::size_t j = 0; j < count_of(shape); ++j) out.numbers.push_back(repeated(from, shape, j));
    return keep(std::move(out));
  }
  Value mean(const Value& x) override {
    const Array& from = (*this)[x];
    Array out{from.shape, {}};
    const std::size_t width = from.shape.back();
    out.shape.back() = 1;
    for (std::size_t j = 0; j < from.numbers.size(); j += width)
      out.numbers.push_back(std::accumulate(from.numbers.begin() + static_cast<std::ptrdiff_t>(j),
                                            from.numbers.begin() + static_cast<std::ptrdiff_t>(j + width), 0.0) /
                            static_cast<double>(width));
    return keep(std::move(out));
  }
  Value dense(const Value& x, const Dense& layer) override {
    const Array weights = (*this)[parameters(layer.weights)], from = (*this)[x];
    const std::size_t inputs = from.numbers.size(), outputs = weights.numbers.size() / inputs;
    const Shape expected = layer.transposed ? Shape{inputs, outputs} : Shape{outputs, inputs};
    if (from.shape.size() != 1 || weights.shape != expected) throw std::logic_error("shapes that do not fit");
    Array out{{outputs}, std::vector<double>(outputs)};
    if (layer.bias) out.numbers = (*this)[parameters(*layer.bias)].numbers;
    for (std::size_t o = 0; o < outputs; ++o) {
      out.numbers[o] *= static_cast<double>(layer.constant);
      for (std::size_t i = 0; i < inputs; ++i)
        out.numbers[o] += from.numbers[i] * weights.numbers[layer.transposed ? i * outputs + o : o * inputs + i];
    }
    return keep(std::move(out));
  }
  Value convolution(const Value& x, const Parameters& weights, const Parameters& bias, const WindowShape& windows,
                    std::size_t groups) override {
    const Array w = (*this)[parameters(weights)], b = (*this)[parameters(bias)], from = (*this)[x];
    const std::size_t before = from.shape.at(0) / groups, behind = b.numbers.size(),
                      size = windows.height * windows.width;
    if (from.shape.at(0) % groups != 0 || behind % groups != 0) throw std::logic_error("groups that do not fit");
    if (w.shape != Shape{behind, before, windows.height, windows.width})
      throw std::logic_error("shapes that do not fit");
    return over_windows(from, behind, windows, [&](std::size_t c, auto&& in_window) {
      double sum = b.numbers[c];
      for (std::size_t k = 0; k < before; ++k)
        for (std::size_t at = 0; at < size; ++at)
          sum += in_window(c / (behind / groups) * before + k, at) * w.numbers[(c * before + k) * size + at];
      return sum;
    });
  }
  Value largest_in(const Value& x, const WindowShape& windows) override {
    const Array from = (*this)[x];
    return over_windows(from, from.shape.at(0), windows, [&](std::size_t c, auto&& in_window) {
      double largest = in_window(c, 0);
      for (std::size_t at = 1; at < windows.height * windows.width; ++at)
        largest = std::max(largest, in_window(c, at));
      return largest;
    });
  }
  Value mean_in(const Value& x, const WindowShape& windows) override {
    const Array from = (*this)[x];
    return over_windows(from, from.shape.at(0), windows, [&](std::size_t c, auto&& in_window) {
      double sum = 0;
      for (std::size_t at = 0; at < windows.height * windows.width; ++at) sum += in_window(c, at);
      return sum / static_cast<double>(windows.height * windows.width);
    });
  }

 private:
  static std::size_t count_of(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  }
  /// Size number s of `sizes`, of a shape that may have fewer: then those in front are 1.
  static std::size_t size_at(const Shape& shape, std::size_t s, std::size_t sizes) {
    const std::size_t missing = sizes - shape.size();
    return s < missing ? 1 : shape[s - missing];
  }
  static double repeated(const Array& x, const Shape& out, std::size_t j) {
    std::size_t at = 0, step = 1;
    for (std::size_t s = out.size(); s-- > 0;) {
      const std::size_t size = size_at(x.shape, s, out.size()), index = j % out[s];
      j /= out[s];
      if (size == out[s])
        at += index * step;
      else if (size != 1)
        throw std::logic_error("shapes that do not fit");
      step *= size;
    }
    return x.numbers[at];
  }
  static double value_of(NumberFunction of, double x) {
    switch (of) {
      case NumberFunction::absolute:
        return std::abs(x);
      case NumberFunction::exponential:
        return std::exp(x);
      case NumberFunction::logarithm:
        return std::log(x);
      case NumberFunction::negative:
        return -x;
      case NumberFunction::rectifier:
        return std::max(x, 0.0);
      case NumberFunction::root:
        return std::sqrt(x);
      case NumberFunction::sigmoid:
        return 1 / (1 + std::exp(-x));
      case NumberFunction::tanh:
        return std::tanh(x);
    }
    throw std::logic_error("no such function");
  }
  static double value_of(PairFunction of, double a, double b) {
    switch (of) {
      case PairFunction::sum:
        return a + b;
      case PairFunction::difference:
        return a - b;
      case PairFunction::product:
        return a * b;
      case PairFunction::quotient:
        return a / b;
      case PairFunction::larger:
        return std::max(a, b);
    }
    throw std::logic_error("no such function");
  }
  /// make(channel, in_window), with in_window(channel before, place) 0 outside of the image.
  template <class Make>
  Value over_windows(const Array& image, std::size_t channels, const WindowShape& windows, Make&& make) {
    const std::size_t height = image.shape.at(1), width = image.shape.at(2);
    Array out{{channels, (height + 2 * windows.padding - windows.height) / windows.stride + 1,
               (width + 2 * windows.padding - windows.width) / windows.stride + 1},
              {}};
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t y = 0; y < out.shape[1]; ++y)
        for (std::size_t x = 0; x < out.shape[2]; ++x)
          out.numbers.push_back(make(c, [&](std::size_t k, std::size_t at) {
            const std::size_t row = y * windows.stride + at / windows.width - windows.padding,
                              column = x * windows.stride + at % windows.width - windows.padding;
            const bool inside = row < height && column < width;  // unsigned: below 0, too
            return inside ? image.numbers[(k * height + row) * width + column] : 0.0;
          }));
    return keep(std::move(out));
  }

  std::map<Value, Array> arrays_;
};

}  // namespace dpmpi::test
