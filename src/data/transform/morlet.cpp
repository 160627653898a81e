#include "data/transform/morlet.hpp"

#include <numeric>

#include "core/numbers/portable_exp.hpp"
#include "core/numbers/waves.hpp"

namespace dpmpi {
namespace {

/// Copies of a filter to either side that are added up where edges meet.
constexpr int copies = 2;

/// e^(-half a square), 0 where that is nothing.
double bell(double square) { return square < 1400 ? portable_exp(-0.5 * square) : 0; }

struct WaveAndBell {
  double re = 0, im = 0, bell = 0;
};

WaveAndBell at(const Wavelet& w, double cosine, double sine, double y, double x) {
  const double along = x * cosine + y * sine, across = y * cosine - x * sine;
  const double high = bell((along * along + w.slant * w.slant * across * across) / (w.deviation * w.deviation));
  if (high == 0) return {};
  return {high * cos_pi(w.frequency * along), high * sin_pi(w.frequency * along), high};
}

}  // namespace

ComplexValues morlet(const PlaneSize& size, const Wavelet& wavelet) {
  const double cosine = cos_pi(wavelet.angle), sine = sin_pi(wavelet.angle);
  ComplexValues wave(size.count());
  std::vector<double> gaussian(size.count());
  for (std::size_t i = 0; i < size.count(); ++i)
    for (int down = -copies; down <= copies; ++down)
      for (int across = -copies; across <= copies; ++across) {
        const auto y = static_cast<double>(i / size.width) + down * static_cast<double>(size.height);
        const auto x = static_cast<double>(i % size.width) + across * static_cast<double>(size.width);
        const WaveAndBell value = at(wavelet, cosine, sine, y, x);
        wave.re[i] += value.re, wave.im[i] += value.im, gaussian[i] += value.bell;
      }
  const double sum = std::accumulate(gaussian.begin(), gaussian.end(), 0.0);
  const double mean_re = std::accumulate(wave.re.begin(), wave.re.end(), 0.0) / sum,
               mean_im = std::accumulate(wave.im.begin(), wave.im.end(), 0.0) / sum;
  for (std::size_t i = 0; i < size.count(); ++i) {
    wave.re[i] = (wave.re[i] - mean_re * gaussian[i]) / sum;
    wave.im[i] = (wave.im[i] - mean_im * gaussian[i]) / sum;
  }
  return wave;
}

// A wavelet at -x is the conjugate of that at x.
std::vector<double> morlet_spectrum(PlaneFourier& fourier, const Wavelet& wavelet) {
  ComplexValues values = morlet(fourier.size(), wavelet);
  fourier.to_spectrum(values);
  return {values.re.begin(), values.re.end()};
}

std::vector<double> low_pass(std::size_t outputs, std::size_t length, std::size_t step, double spread) {
  std::vector<double> weights(outputs * length);
  for (std::size_t k = 0; k < outputs; ++k) {
    double* const row = weights.data() + k * length;
    for (std::size_t i = 0; i < length; ++i)
      for (int copy = -copies; copy <= copies; ++copy) {
        const double off =
            static_cast<double>(i) - static_cast<double>((k + 1) * step) + copy * static_cast<double>(length);
        row[i] += bell(off * off / (spread * spread));
      }
    const double sum = std::accumulate(row, row + length, 0.0);
    for (std::size_t i = 0; i < length; ++i) row[i] /= sum;
  }
  return weights;
}

}  // namespace dpmpi
