"""The scattering transform of images (Bruna and Mallat 2013, with the constants of Oyallon et al. 2019).

Channel 1 is the image averaged over squares of 2^J pixels; then come the averaged moduli of its wavelet transform, and
those of theirs by longer wavelets. docs/guide/scattering.md defines them.
"""

from functools import lru_cache
from typing import List, Tuple

import numpy as np

from ..errors import DataError

_copies = range(-2, 3)  # of a filter, added up where edges meet
_deviation, _frequency = 0.8, 0.75  # of wavelet 0; wavelet j is 2^j times as long


class Scattering:
    """J scales and L angles. Called with images x channels x height x width of float64."""

    def __init__(self, J: int, L: int) -> None:
        if not (1 <= J <= 10 and 1 <= L <= 32):
            raise DataError(f"scattering J={J} L={L}: J is from 1 to 10, and L from 1 to 32")
        self.J, self.L = J, L
        self.square = 2**J

    def __call__(self, images: np.ndarray) -> np.ndarray:
        count, channels, height, width = images.shape
        if self.square >= min(height, width):
            raise DataError(f"scattering J={self.J} averages over squares of {self.square} pixels, and images are not "
                            "larger")
        mirrored = images[:, :, _mirror(height, self.square)][:, :, :, _mirror(width, self.square)]
        planes = mirrored.reshape(count * channels, *mirrored.shape[2:])
        means = (height // self.square, width // self.square)
        out = np.stack(self._orders(planes, means), axis=1)
        return out.reshape(count, channels * out.shape[1], *means)

    def _orders(self, planes: np.ndarray, means: Tuple[int, int]) -> List[np.ndarray]:
        spectrum = np.fft.fft2(planes)
        first, second = [self._average(planes, 0, means)], []
        for j in range(self.J):
            for angle in range(self.L):
                modulus = self._modulus(spectrum, 0, j, angle)
                first.append(self._average(modulus, j, means))
                of_modulus = np.fft.fft2(modulus)
                for longer in range(j + 1, self.J):
                    for turn in range(self.L):
                        second.append(self._average(self._modulus(of_modulus, j, longer, turn), longer, means))
        return first + second

    def _modulus(self, spectrum: np.ndarray, r: int, j: int, angle: int) -> np.ndarray:
        """Of wavelet j, of a spectrum at resolution r, with every 2^(j-r)-th pixel in both directions."""
        height, width = spectrum.shape[1:]
        every = 2**(j - r)
        filtered = spectrum * _wavelet_spectrum(height, width, j - r, angle, self.L)
        folded = filtered.reshape(-1, every, height // every, every, width // every).mean(axis=(1, 3))
        return np.abs(np.fft.ifft2(folded))

    def _average(self, planes: np.ndarray, r: int, means: Tuple[int, int]) -> np.ndarray:
        """Over Gaussians around every 2^J-th pixel of the image; planes have every 2^r-th."""
        step, spread = self.square >> r, _deviation * self.square / 2 / 2**r
        down = _low_pass(means[0], planes.shape[1], step, spread)
        across = _low_pass(means[1], planes.shape[2], step, spread)
        return down @ planes @ across.T


def _mirror(side: int, square: int) -> np.ndarray:
    """Which pixels stand on a side with its mirror at both ends: two squares more, in whole squares."""
    outer = (side // square + 2) * square
    at = np.abs(np.arange(outer) - (outer - side) // 2)
    return np.where(at < side, at, 2 * (side - 1) - at)


@lru_cache(maxsize=256)
def _wavelet_spectrum(height: int, width: int, scale: int, angle: int, angles: int) -> np.ndarray:
    """A wave under a Gaussian, less a multiple of it so that the sum is 0, at the pixels of a plane whose edges meet.

    The Gaussian has the sum 1. The spectrum is real, for the wavelet at -x is the conjugate of that at x.
    """
    deviation, frequency, slant = _deviation * 2**scale, _frequency / 2**scale, 4 / angles
    turn = np.pi * angle / angles
    wave, bell = np.zeros((height, width), complex), np.zeros((height, width))
    for down in _copies:
        for across in _copies:
            y = np.arange(height)[:, None] + down * height
            x = np.arange(width)[None, :] + across * width
            along, beside = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
            gaussian = np.exp(-0.5 * (along**2 + (slant * beside)**2) / deviation**2)
            wave += gaussian * np.exp(1j * np.pi * frequency * along)
            bell += gaussian
    total = bell.sum()
    return np.fft.fft2((wave - wave.sum() / total * bell) / total).real


@lru_cache(maxsize=64)
def _low_pass(outputs: int, length: int, step: int, spread: float) -> np.ndarray:
    """Weights with the sum 1 of a Gaussian around pixel (k + 1) * step, for each k, on a line whose ends meet."""
    off = np.arange(length)[None, :] - (np.arange(outputs)[:, None] + 1) * step
    weights = sum(np.exp(-0.5 * ((off + copy * length) / spread)**2) for copy in _copies)
    return weights / weights.sum(axis=1, keepdims=True)
