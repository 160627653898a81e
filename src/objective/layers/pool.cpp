// The largest number of each window, or their mean, channel by channel.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "objective/layers/kinds.hpp"
#include "objective/layers/windows.hpp"

namespace dpmpi {
namespace {

struct PoolSettings {
  Windows windows;
  Volume out(const Volume& in) const { return windows.out(in, in.channels); }
};

template <class T>
class MaxPoolLayer final : public Layer<T> {
 public:
  MaxPoolLayer(const PoolSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        windows_(settings.windows),
        outputs_(room_for<T>(this->out())),
        back_(room_for<T>(in)),
        largest_(this->out().size()) {}

  /// Of equal ones the first counts.
  const T* forward(const T* in) override {
    const std::size_t channels = this->in().channels;
    windows_.for_each_run(this->in(), this->out(),
                          [&](std::size_t window, std::size_t place, std::size_t position, std::size_t count) {
                            T* const out = outputs_.data() + window * channels;
                            std::uint32_t* const which = largest_.data() + window * channels;
                            for (std::size_t i = 0; i < count; ++i) {
                              const auto at = static_cast<std::uint32_t>((position + i) * channels);
                              const T* const from = in + at;
                              for (std::size_t c = 0; c < channels; ++c) {
                                const bool larger = place + i == 0 || from[c] > out[c];
                                out[c] = larger ? from[c] : out[c];
                                which[c] = larger ? at : which[c];
                              }
                            }
                          });
    return outputs_.data();
  }

  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    const std::size_t channels = this->in().channels;
    std::fill(back_.begin(), back_.end(), T{0});
    for (std::size_t window = 0; window < this->out().positions(); ++window)
      for (std::size_t c = 0; c < channels; ++c)
        back_[largest_[window * channels + c] + c] += delta[window * channels + c];
    return back_.data();
  }

 private:
  Windows windows_;
  AlignedVector<T> outputs_, back_;
  std::vector<std::uint32_t> largest_;  ///< its position's first channel
};

template <class T>
class AveragePoolLayer final : public Layer<T> {
 public:
  AveragePoolLayer(const PoolSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        windows_(settings.windows),
        share_(T{1} / static_cast<T>(windows_.positions())),
        outputs_(room_for<T>(this->out())),
        back_(room_for<T>(in)) {}

  const T* forward(const T* in) override {
    std::fill(outputs_.begin(), outputs_.end(), T{0});
    pair_up([&](std::size_t outside, std::size_t inside) { outputs_[outside] += in[inside]; });
    for (T& mean : outputs_) mean *= share_;
    return outputs_.data();
  }

  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    std::fill(back_.begin(), back_.end(), T{0});
    pair_up([&](std::size_t outside, std::size_t inside) { back_[inside] += share_ * delta[outside]; });
    return back_.data();
  }

 private:
  /// Calls visit(output, input) for all inputs of every output.
  template <class Visit>
  void pair_up(Visit&& visit) const {
    const std::size_t channels = this->in().channels;
    windows_.for_each_run(this->in(), this->out(),
                          [&](std::size_t window, std::size_t /*place*/, std::size_t position, std::size_t count) {
                            for (std::size_t i = 0; i < count; ++i)
                              for (std::size_t c = 0; c < channels; ++c)
                                visit(window * channels + c, (position + i) * channels + c);
                          });
  }

  Windows windows_;
  T share_;
  AlignedVector<T> outputs_, back_;
};

template <template <class> class L>
std::shared_ptr<const LayerPlan> read_pool(LayerWords& words) {
  return planned<L>(PoolSettings{windows_of(words, {}, false)});
}

}  // namespace

LayerKind max_pool_kind() {
  return {"maxpool", "maxpool SIZE [stride S] or maxpool HEIGHTxWIDTH stride S", read_pool<MaxPoolLayer>};
}
LayerKind average_pool_kind() {
  return {"avgpool", "avgpool SIZE [stride S] or avgpool HEIGHTxWIDTH stride S", read_pool<AveragePoolLayer>};
}

}  // namespace dpmpi
