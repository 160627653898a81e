#pragma once
// A layer of a network, for one record at a time: it never sees two, so what it gives of a record has the same
// bits whatever records stand beside it (numerics contract N2).
//
// The values of a record between two layers stand position after position (rows of an image, from left to
// right), and at each position channel after channel.

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "objective/layers/draws.hpp"
#include "objective/network/microkernel.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// The shape of a record's values between two layers.
struct Volume {
  std::size_t channels = 1, height = 1, width = 1;
  std::size_t positions() const { return height * width; }
  std::size_t size() const { return channels * positions(); }
  /// The same where it may be too large for a number.
  double any_size() const {
    return static_cast<double>(channels) * static_cast<double>(height) * static_cast<double>(width);
  }
  bool operator==(const Volume&) const = default;
};

/// Zeros for the values of one record, with room up to a whole number of register tiles.
template <class T>
AlignedVector<T> room_for(const Volume& volume) {
  return AlignedVector<T>(round_up(round_up(volume.positions(), register_rows) * volume.channels, 16), T{0});
}

/// T: float, or double for checks. Local; allocates when it is made, and never again.
template <class T>
class Layer {
 public:
  Layer(const Volume& in, const Volume& out) : in_(in), out_(out) {}
  virtual ~Layer() = default;

  const Volume& in() const { return in_; }
  const Volume& out() const { return out_; }
  /// Multiplications of a forward pass.
  virtual double multiply_adds() const { return 0; }
  /// Its parameters, from offset 0 on.
  virtual std::vector<ParameterGroup> groups() const { return {}; }
  std::size_t parameters() const {
    std::size_t all = 0;
    for (const ParameterGroup& group : groups()) all += group.size();
    return all;
  }
  /// Turns independent standard normal numbers into parameters to start from; `rectified`: a rectifier follows.
  virtual void initialise(std::span<float> /*w*/, bool /*rectified*/) const {}
  /// Whether it is a rectifier, which halves the signal.
  virtual bool rectifies() const { return false; }

  /// What random layers draw from in the passes that follow; null: in these, they do nothing. For a record's
  /// gradient it is said anew for each record, for its loss and its scores never.
  virtual void draw(const LayerDraws* /*from*/) {}

  /// Moves to these parameters.
  virtual void load(std::span<const T> /*w*/) {}
  /// The outputs for `in`, which stays unchanged until the backward pass is over. They have room_for(out()) and
  /// are valid until the next call.
  virtual const T* forward(const T* in) = 0;
  /// After forward(): writes the gradient by the parameters that are trained, from that by the outputs (with
  /// room_for(out())).
  /// Returns the gradient by the inputs, with room_for(in()), valid until the next call; null if not `wanted`.
  virtual const T* backward(const T* delta, T* gradient, bool wanted) = 0;

 private:
  Volume in_, out_;
};

/// C = A B with every entry one chain of fused multiply-adds in the order of the inner index. `rows`: a multiple
/// of register_rows; `cols`: of 16; B and its rows are 64-byte-aligned. `left(r)` gives the rows of A from r on.
/// `more`: it is added to what stands in C.
template <class T, class LeftOf>
void multiply(const LeftOf& left, std::size_t rows, const T* b, std::size_t b_stride, std::size_t inner,
              std::size_t cols, T* c, std::size_t c_stride, bool more = false) {
  for (std::size_t first = 0, width = 0; first < cols; first += width) {
    // Two vectors twice, instead of three and one: sums of a single vector wait for one another.
    width = cols - first == panel_columns<T> + packet_size<T> ? 2 * packet_size<T>
                                                              : std::min(panel_columns<T>, cols - first);
    const Panel<T> panel{b + first, b_stride, width};
    for (std::size_t r = 0; r < rows; r += register_rows)
      multiply_tile<register_rows>(left(r), panel, inner, c + r * c_stride + first, c_stride, more);
  }
}

}  // namespace dpmpi
