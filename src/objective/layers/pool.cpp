// The largest number of each window, or their mean, channel by channel.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "objective/layers/kinds.hpp"
#include "objective/layers/windows.hpp"

namespace dpmpi {
namespace {

/// `made`: how a writer calls what is made of each window; `mean`: whether that is their mean.
template <ScoreWriter::Value (ScoreWriter::*made)(const ScoreWriter::Value&, const WindowShape&), bool mean>
struct PoolSettings {
  Windows windows;
  Volume out(const Volume& in) const { return windows.out(in, in.channels); }
  bool has_kink() const { return !mean; }
  // The largest numbers of two windows are no further apart than the windows, their means by the root of a window
  // less, and a number is in that many windows.
  SlopeBound slope_bound(const Volume& in, double /*radius*/) const {
    return {.factor = std::sqrt(static_cast<double>(windows.overlap(in)) /
                                static_cast<double>(mean ? windows.positions() : 1))};
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           const LayerParameters& /*own*/) const {
    return windows.write(writer, x, in, out(in), [&](const ScoreWriter::Value& image, const WindowShape& shape) {
      return (writer.*made)(image, shape);
    });
  }
};
using MaxPoolSettings = PoolSettings<&ScoreWriter::largest_in, false>;
using AveragePoolSettings = PoolSettings<&ScoreWriter::mean_in, true>;

// Channels at a time, in a register: left to itself GCC keeps the largest ones in memory.
template <class T>
struct Lane;
template <>
struct Lane<float> {
  using Place = std::int32_t;
  using Values = float __attribute__((vector_size(32)));
  using Places = Place __attribute__((vector_size(32)));
};
template <>
struct Lane<double> {
  using Place = std::int64_t;
  using Values = double __attribute__((vector_size(32)));
  using Places = Place __attribute__((vector_size(32)));
};

template <class T>
class MaxPoolLayer final : public Layer<T> {
 public:
  MaxPoolLayer(const MaxPoolSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        begins_(settings.windows.begins(in)),
        places_(settings.windows.places(in)),
        outputs_(room_for<T>(this->out())),
        back_(room_for<T>(in)),
        largest_(this->out().size()) {}

  /// Of equal ones the first counts.
  const T* forward(const T* in) override {
    for_each_lane([&]<class V, class P>(V best, P which, std::size_t begin, std::size_t out) {
      read(in + begin, best);
      for (std::size_t k = 1; k < places_.size(); ++k) {
        V value;
        read(in + begin + places_[k], value);
        const auto larger = value > best;
        best = larger ? value : best;
        which = larger ? P{} + static_cast<Place>(k) : which;
      }
      write(best, outputs_.data() + out);
      write(which, largest_.data() + out);
    });
    return outputs_.data();
  }

  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    std::ranges::fill(back_, T{0});
    for_each_lane([&]<class V, class P>(V sum, P which, std::size_t begin, std::size_t out) {
      V share;
      read(delta + out, share);
      read(largest_.data() + out, which);
      for (std::size_t k = 0; k < places_.size(); ++k) {
        T* const to = back_.data() + begin + places_[k];
        read(to, sum);
        write(sum + (which == static_cast<Place>(k) ? share : V{}), to);
      }
    });
    return back_.data();
  }

 private:
  using Values = typename Lane<T>::Values;
  using Place = typename Lane<T>::Place;
  using Places = typename Lane<T>::Places;

  template <class V, class X>
  static void read(const X* from, V& to) {
    std::memcpy(&to, from, sizeof to);
  }
  template <class V, class X>
  static void write(const V& from, X* to) {
    std::memcpy(to, &from, sizeof from);
  }

  /// Calls visit(values, places, the first input, the first output) for channels of every window, as many as there
  /// are zeros in values and places.
  template <class Visit>
  void for_each_lane(Visit&& visit) const {
    constexpr std::size_t lane = sizeof(Values) / sizeof(T);
    const std::size_t channels = this->in().channels;
    for (std::size_t w = 0; w < begins_.size(); ++w) {
      std::size_t c = 0;
      for (; c + lane <= channels; c += lane) visit(Values{}, Places{}, begins_[w] + c, w * channels + c);
      for (; c < channels; ++c) visit(T{}, Place{}, begins_[w] + c, w * channels + c);
    }
  }

  std::vector<std::uint32_t> begins_, places_;
  AlignedVector<T> outputs_, back_;
  std::vector<typename Lane<T>::Place> largest_;  ///< its place in the window
};

template <class T>
class AveragePoolLayer final : public Layer<T> {
 public:
  AveragePoolLayer(const AveragePoolSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        begins_(settings.windows.begins(in)),
        places_(settings.windows.places(in)),
        share_(T{1} / static_cast<T>(places_.size())),
        outputs_(room_for<T>(this->out())),
        back_(room_for<T>(in)) {}

  const T* forward(const T* in) override {
    const std::size_t channels = this->in().channels;
    std::ranges::fill(outputs_, T{0});
    for (std::size_t w = 0; w < begins_.size(); ++w) {
      T* const sum = outputs_.data() + w * channels;
      for (const std::uint32_t place : places_)
        for (std::size_t c = 0; c < channels; ++c) sum[c] += in[begins_[w] + place + c];
    }
    for (T& mean : outputs_) mean *= share_;
    return outputs_.data();
  }

  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    const std::size_t channels = this->in().channels;
    std::ranges::fill(back_, T{0});
    for (std::size_t w = 0; w < begins_.size(); ++w)
      for (const std::uint32_t place : places_) {
        T* const to = back_.data() + begins_[w] + place;
        for (std::size_t c = 0; c < channels; ++c) to[c] += share_ * delta[w * channels + c];
      }
    return back_.data();
  }

 private:
  std::vector<std::uint32_t> begins_, places_;
  T share_;
  AlignedVector<T> outputs_, back_;
};

template <template <class> class L, class Settings>
std::shared_ptr<const LayerPlan> read_pool(LayerWords& words) {
  return planned<L>(Settings{windows_of(words, {}, false)});
}

}  // namespace

LayerKind max_pool_kind() {
  return {"maxpool", "maxpool SIZE [stride S] or maxpool HEIGHTxWIDTH stride S",
          read_pool<MaxPoolLayer, MaxPoolSettings>};
}
LayerKind average_pool_kind() {
  return {"avgpool", "avgpool SIZE [stride S] or avgpool HEIGHTxWIDTH stride S",
          read_pool<AveragePoolLayer, AveragePoolSettings>};
}

}  // namespace dpmpi
