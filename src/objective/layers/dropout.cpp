// Dropout (Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov 2014): in a gradient, each number is 0 with
// the given probability, and else over the probability that it is not. Losses, scores and model files know nothing
// of it.
//
// Which numbers are dropped follows from the point and the record alone (draws.hpp), as random copies of images do.
// So privacy is that of any other layer: a gradient that is a function of one record and of a public point is
// clipped. A mask that was drawn by a record's place, or in the order of a batch, would be one more thing that
// other records could change.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/numbers/random.hpp"
#include "objective/layers/kinds.hpp"

namespace dpmpi {
namespace {

constexpr std::uint32_t dropout_tag = 0x64726f70;  // no other stream has it

struct DropoutSettings {
  double probability;
  bool random() const { return true; }
  Volume out(const Volume& in) const { return in; }
  ScoreWriter::Value write(ScoreWriter& /*writer*/, const ScoreWriter::Value& x, const Volume& /*in*/,
                           const LayerParameters& /*own*/) const {
    return x;
  }
};

template <class T>
class DropoutLayer final : public Layer<T> {
 public:
  DropoutLayer(const DropoutSettings& settings, const Volume& in)
      : Layer<T>(in, in),
        dropped_(static_cast<std::uint64_t>(std::round(settings.probability * 0x1p32))),
        kept_(static_cast<T>(1 / (1 - settings.probability))),
        factors_(room_for<T>(in)),
        outputs_(room_for<T>(in)),
        back_(room_for<T>(in)) {}

  void draw(const LayerDraws* from) override {
    drawn_ = from != nullptr;
    if (!drawn_) return;
    const PublicCounter bits(from->point, dropout_tag);
    for (std::size_t j = 0; j < this->in().size(); j += 4) {
      const auto words =
          bits.block({static_cast<std::uint32_t>(from->record), static_cast<std::uint32_t>(from->record >> 32),
                      from->copy, static_cast<std::uint32_t>(j / 4)});
      for (std::size_t i = 0; i < 4 && j + i < this->in().size(); ++i)
        factors_[j + i] = words[i] < dropped_ ? T{0} : kept_;
    }
  }
  const T* forward(const T* in) override { return made_of(in, outputs_); }
  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    return wanted ? made_of(delta, back_) : nullptr;
  }

 private:
  const T* made_of(const T* from, AlignedVector<T>& to) const {
    const std::size_t size = this->in().size();
    if (drawn_)
      for (std::size_t j = 0; j < size; ++j) to[j] = factors_[j] * from[j];
    else
      std::copy_n(from, size, to.data());
    return to.data();
  }

  std::uint64_t dropped_;  ///< words below it
  T kept_;
  bool drawn_ = false;
  AlignedVector<T> factors_, outputs_, back_;
};

}  // namespace

LayerKind dropout_kind() {
  return {"dropout", "dropout PROBABILITY", [](LayerWords& words) {
            return planned<DropoutLayer>(DropoutSettings{words.probability("probability")});
          }};
}

}  // namespace dpmpi
