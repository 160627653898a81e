#pragma once
// A network at two points w and v over one micro-batch: the pass at v, and the change from v to w beside it.
//
// Changes are carried through the layers instead of being differences of two results, with D = W - V:
//   s' - s = D a_w + V (a_w - a_v),   g_w - g_v = D^T d_w + V^T (d_w - d_v),
// and activations by their addition theorems. So a change is as accurate relative to itself as float32 is, down to
// w and v that differ in the last place; and the first layer, most of a network, costs two products in either
// direction.

#include <span>
#include <vector>

#include "objective/network/network.hpp"

namespace dpmpi {

class MlpPair {
 public:
  MlpPair(const MlpShape& shape, std::size_t rows);
  void load(std::span<const float> w, std::span<const float> v);

  /// Levels 1 .. layers() of `input`. `rows`: a multiple of 16.
  void forward(const Scratch<float>& input, std::size_t rows);
  /// Deltas 1 .. layers()-1, from those of the outputs: delta() at w, delta_change(), delta_at_v().
  void backward(std::size_t rows);

  Scratch<float>& level(std::size_t l) { return at_v_[l].level; }           ///< a at v
  Scratch<float>& level_change(std::size_t l) { return change_[l].level; }  ///< a at w less a at v
  Scratch<float>& delta(std::size_t l) { return delta_at_w_[l]; }           ///< d at w
  Scratch<float>& delta_at_v(std::size_t l) { return at_v_[l].delta; }      ///< d at v
  Scratch<float>& delta_change(std::size_t l) { return change_[l].delta; }  ///< d at w less d at v

 private:
  struct Layer {
    Scratch<float> level, delta;
  };
  void activate(std::size_t l, std::size_t rows);

  const MlpShape& shape_;
  std::vector<Layer> at_v_, change_;
  std::vector<Scratch<float>> delta_at_w_;
  Scratch<float> level_at_w_, product_;
  std::vector<float> step_;                                      ///< w - v
  std::vector<PackedMatrix<float>> forward_v_, forward_step_;    ///< of each layer
  std::vector<PackedMatrix<float>> backward_v_, backward_step_;  ///< unused for layer 0
};

}  // namespace dpmpi
