#pragma once
// What convolutions say of themselves, whatever kernel they have.

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "objective/layers/windows.hpp"

namespace dpmpi {

/// Channels before and behind stand in `groups` equal groups, and those behind see those of their own group
/// (Krizhevsky, Sutskever and Hinton 2012; one channel each: depthwise).
struct ConvSettings {
  std::size_t channels;
  Windows windows;
  std::size_t groups = 1;

  /// Throws ConfigError if they cannot stand behind values of that shape.
  Volume out(const Volume& in) const;
  double numbers(const Volume& in) const;
  /// Each output is a product of (its group of) a window with weights of norm |w| at most, and a number is in that
  /// many windows.
  SlopeBound slope_bound(const Volume& in, double /*radius*/) const {
    return {.factor = std::sqrt(static_cast<double>(windows.overlap(in))), .powers = 1};
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const;

  /// Numbers of a window that an output is made of.
  std::size_t inputs(const Volume& in) const { return windows.positions() * in.channels / groups; }
  /// Weights, (rows x columns of the window x channels before of one group) by channels behind, and a bias for each
  /// of the latter.
  std::vector<ParameterGroup> parameters(const Volume& in) const;
  void initialise(std::span<float> w, const Volume& in, bool rectified) const;
  double multiply_adds(const Volume& in) const { return out(in).any_size() * static_cast<double>(inputs(in)); }
  /// Whether every group is one channel of several, before and behind.
  bool depthwise(const Volume& in) const { return groups > 1 && groups == channels && groups == in.channels; }
};

/// Convolutions of single channels, whose loops run over the channels. In one record at a time, as all layers.
template <class T>
std::unique_ptr<Layer<T>> make_depthwise(const ConvSettings& settings, const Volume& in);

}  // namespace dpmpi
