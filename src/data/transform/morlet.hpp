#pragma once
// The filters of a scattering transform, on planes whose edges meet: Morlet wavelets and a Gaussian.

#include <cstddef>
#include <vector>

#include "data/transform/fourier.hpp"

namespace dpmpi {

/// A wave along direction `angle` (in half turns) under a Gaussian that is 1 / slant times longer across than
/// along.
struct Wavelet {
  double deviation = 1;  ///< of the Gaussian along the wave, in pixels
  double frequency = 0;  ///< half turns of the wave a pixel
  double angle = 0, slant = 1;
};

/// The wavelet less a multiple of its Gaussian, so that its sum is 0; the Gaussian has the sum 1. At the pixels of
/// a plane whose edges meet, from pixel (0, 0) on: plane[y][x].
ComplexValues morlet(const PlaneSize& size, const Wavelet& wavelet);
/// Its spectrum, width x height, which is real.
std::vector<double> morlet_spectrum(PlaneFourier& fourier, const Wavelet& wavelet);

/// Weights with the sum 1 of a Gaussian of this deviation around pixel (k + 1) * step, for each k < outputs, on a
/// line of `length` pixels whose ends meet: outputs x length.
std::vector<double> low_pass(std::size_t outputs, std::size_t length, std::size_t step, double spread);

}  // namespace dpmpi
