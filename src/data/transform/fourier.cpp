#include "data/transform/fourier.hpp"

#include <utility>

#include "core/numbers/waves.hpp"

namespace dpmpi {
namespace {

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

/// to = factor * from, of `count` numbers.
void multiply(const double* from_re, const double* from_im, double re, double im, double* __restrict to_re,
              double* __restrict to_im, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to_re[i] = re * from_re[i] - im * from_im[i];
    to_im[i] = re * from_im[i] + im * from_re[i];
  }
}

/// to += factor * from.
void add_multiple(const double* from_re, const double* from_im, double re, double im, double* __restrict to_re,
                  double* __restrict to_im, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to_re[i] += re * from_re[i] - im * from_im[i];
    to_im[i] += re * from_im[i] + im * from_re[i];
  }
}

}  // namespace

ColumnFourier::ColumnFourier(std::size_t length, Direction direction) {
  const bool inverse = direction == Direction::inverse;
  double share = inverse ? 1 / static_cast<double>(length) : 1;  // of the first stage alone
  std::size_t rest = length, together = 1;
  do {
    const std::size_t p = smallest_factor(rest), parts = rest / p;
    Stage stage{p, parts, together, {}, {}};
    for (std::size_t j = 0; j < parts; ++j)
      for (std::size_t k = 0; k < p; ++k)
        for (std::size_t r = 0; r < p; ++r) {
          // e^(-2 pi i (j k / rest + k r / p))
          const double turn = static_cast<double>(k * (j + r * parts) % rest) / static_cast<double>(rest);
          stage.re.push_back(share * cos_pi(2 * turn));
          stage.im.push_back(share * (inverse ? 1 : -1) * sin_pi(2 * turn));
        }
    stages_.push_back(std::move(stage));
    rest = parts, together *= p, share = 1;
  } while (rest > 1);
}

void ColumnFourier::operator()(ComplexValues& values, ComplexValues& spare, std::size_t width) const {
  for (const Stage& stage : stages_) {
    const std::size_t count = stage.together * width;  // numbers that are treated alike
    std::size_t at = 0;
    for (std::size_t j = 0; j < stage.parts; ++j)
      for (std::size_t k = 0; k < stage.radix; ++k) {
        const std::size_t to = (stage.radix * j + k) * count;
        double* const re = spare.re.data() + to;
        double* const im = spare.im.data() + to;
        for (std::size_t r = 0; r < stage.radix; ++r, ++at) {
          const std::size_t from = (j + stage.parts * r) * count;
          (r == 0 ? multiply : add_multiple)(values.re.data() + from, values.im.data() + from, stage.re[at],
                                             stage.im[at], re, im, count);
        }
      }
    std::swap(values, spare);
  }
}

PlaneFourier::PlaneFourier(const PlaneSize& size)
    : size_(size),
      down_(size.height, ColumnFourier::Direction::forward),
      across_(size.width, ColumnFourier::Direction::forward),
      back_down_(size.height, ColumnFourier::Direction::inverse),
      back_across_(size.width, ColumnFourier::Direction::inverse),
      spare_(size.count()) {}

void PlaneFourier::to_spectrum(ComplexValues& plane) {
  down_(plane, spare_, size_.width);
  transpose(plane, size_.height, size_.width);
  across_(plane, spare_, size_.height);
}

void PlaneFourier::to_plane(ComplexValues& spectrum) {
  back_across_(spectrum, spare_, size_.height);
  transpose(spectrum, size_.width, size_.height);
  back_down_(spectrum, spare_, size_.width);
}

void PlaneFourier::transpose(ComplexValues& values, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      spare_.re[j * rows + i] = values.re[i * columns + j];
      spare_.im[j * rows + i] = values.im[i * columns + j];
    }
  std::swap(values, spare_);
}

}  // namespace dpmpi
