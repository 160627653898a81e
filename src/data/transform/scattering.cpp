// The scattering transform (Bruna and Mallat 2013; Oyallon et al. 2019): an image, the moduli of its wavelet
// transform, and those of theirs, each averaged over squares of 2^J pixels. It moves by little when the image moves
// or bends, and nothing of it is learned. Private linear models of it are the better ones (Tramer and Boneh 2021).

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/transform/image_step.hpp"
#include "data/transform/morlet.hpp"

namespace dpmpi {
namespace {

/// J and L.
struct ScatteringSettings {
  std::size_t scales, angles;
  std::size_t square() const { return std::size_t{1} << scales; }
  std::size_t channels() const { return 1 + scales * angles + angles * angles * scales * (scales - 1) / 2; }
};

// The constants of Oyallon et al.: wavelet 0 is this one, and wavelet j is 2^j times as long.
constexpr double first_deviation = 0.8, first_frequency = 0.75;
Wavelet wavelet_of(std::size_t scale, double angle, std::size_t angles) {
  const auto longer = static_cast<double>(std::size_t{1} << scale);
  return {first_deviation * longer, first_frequency / longer, angle, 4 / static_cast<double>(angles)};
}

/// A side of the image with its mirror at both ends: two squares more, in whole squares.
struct MirroredSide {
  MirroredSide(std::size_t side, std::size_t square)
      : inner(side), outer((side / square + 2) * square), before((outer - inner) / 2) {}
  std::size_t inner, outer, before;
  std::size_t pixel(std::size_t i) const {
    const std::size_t from_begin = i < before ? before - i : i - before;
    return from_begin < inner ? from_begin : 2 * (inner - 1) - from_begin;
  }
};

/// The mirrored plane with every 2^r-th pixel in both directions, the wavelets that act on it, and the average.
class Resolution {
 public:
  Resolution(const ScatteringSettings& settings, std::size_t r, const PlaneSize& whole, const PlaneSize& means)
      : fourier({whole.height >> r, whole.width >> r}),
        plane(size().count()),
        means_(means),
        down_(low_pass(means.height, size().height, settings.square() >> r, spread(settings, r))),
        across_(transposed_low_pass(means.width, size().width, settings.square() >> r, spread(settings, r))),
        rows_(means.height * size().width),
        first_scale_(r == 0 ? 0 : r + 1),
        angles_(settings.angles) {
    for (std::size_t j = first_scale_; j < settings.scales; ++j)
      for (std::size_t l = 0; l < settings.angles; ++l) {
        const double angle = static_cast<double>(l) / static_cast<double>(settings.angles);
        wavelets_.push_back(morlet_spectrum(fourier, wavelet_of(j - r, angle, settings.angles)));
      }
  }

  const PlaneSize& size() const { return fourier.size(); }
  const std::vector<double>& wavelet(std::size_t j, std::size_t l) const {
    return wavelets_[(j - first_scale_) * angles_ + l];
  }
  /// means[a][b] = sum over y, x of down[a][y] across[b][x] pixels[y][x].
  void average(const double* pixels, double* means) {
    const std::size_t height = size().height, width = size().width;
    std::ranges::fill(rows_, 0.0);
    for (std::size_t a = 0; a < means_.height; ++a)
      for (std::size_t y = 0; y < height; ++y) {
        const double weight = down_[a * height + y];
        for (std::size_t x = 0; x < width; ++x) rows_[a * width + x] += weight * pixels[y * width + x];
      }
    std::fill_n(means, means_.count(), 0.0);
    for (std::size_t a = 0; a < means_.height; ++a)
      for (std::size_t x = 0; x < width; ++x)
        for (std::size_t b = 0; b < means_.width; ++b)
          means[a * means_.width + b] += rows_[a * width + x] * across_[x * means_.width + b];
  }

  PlaneFourier fourier;
  ComplexValues plane;  ///< room for one

 private:
  static double spread(const ScatteringSettings& settings, std::size_t r) {
    return first_deviation * static_cast<double>(settings.square()) / 2 / static_cast<double>(std::size_t{1} << r);
  }
  static std::vector<double> transposed_low_pass(std::size_t outputs, std::size_t length, std::size_t step,
                                                 double spread) {
    const std::vector<double> rows = low_pass(outputs, length, step, spread);
    std::vector<double> columns(rows.size());
    for (std::size_t k = 0; k < outputs; ++k)
      for (std::size_t i = 0; i < length; ++i) columns[i * outputs + k] = rows[k * length + i];
    return columns;
  }

  PlaneSize means_;
  std::vector<double> down_, across_, rows_;
  std::size_t first_scale_, angles_;           ///< whose wavelets are used
  std::vector<std::vector<double>> wavelets_;  ///< of each scale from first_scale_ on, each angle
};

/// The spectrum of a filtered plane with every `every`-th pixel in both directions. Leaving out pixels adds up the
/// frequencies that they tell apart.
void filter(const ComplexValues& spectrum, const std::vector<double>& by, const PlaneSize& size, std::size_t every,
            ComplexValues& out) {
  const std::size_t height = size.height / every, width = size.width / every;
  const double share = 1 / static_cast<double>(every * every);
  std::fill_n(out.re.begin(), height * width, 0.0);
  std::fill_n(out.im.begin(), height * width, 0.0);
  for (std::size_t kx = 0; kx < size.width; ++kx)
    for (std::size_t part = 0; part < every; ++part) {
      const std::size_t from = kx * size.height + part * height;
      double* const re = out.re.data() + kx % width * height;
      double* const im = out.im.data() + kx % width * height;
      for (std::size_t i = 0; i < height; ++i) {
        const double weight = share * by[from + i];
        re[i] += weight * spectrum.re[from + i];
        im[i] += weight * spectrum.im[from + i];
      }
    }
}

class Scattering final : public ImageStep {
 public:
  Scattering(const ScatteringSettings& settings, const ImageShape& in, const ImageShape& out)
      : settings_(settings),
        in_(in),
        means_(out.positions()),
        down_(in.height, settings.square()),
        across_(in.width, settings.square()),
        image_(down_.outer * across_.outer) {
    for (std::size_t r = 0; r < settings.scales; ++r)
      resolutions_.emplace_back(settings, r, PlaneSize{down_.outer, across_.outer},
                                PlaneSize{out.height, out.width});
  }

  void apply(std::span<const double> image, std::span<double> out) override {
    double* to = out.data();
    for (std::size_t c = 0; c < in_.channels; ++c)
      to = transform(image.subspan(c * in_.positions(), in_.positions()), to);
  }

 private:
  /// One channel; returns where the next one's go. First the mean, then the first order, then the second.
  double* transform(std::span<const double> channel, double* to) {
    Resolution& whole = resolutions_.front();
    for (std::size_t y = 0; y < down_.outer; ++y)
      for (std::size_t x = 0; x < across_.outer; ++x)
        image_.re[y * across_.outer + x] = channel[down_.pixel(y) * in_.width + across_.pixel(x)];
    std::ranges::fill(image_.im, 0.0);
    whole.average(image_.re.data(), to);
    whole.fourier.to_spectrum(image_);
    double* second = to + (1 + settings_.scales * settings_.angles) * means_;
    to += means_;
    for (std::size_t j = 0; j < settings_.scales; ++j)
      for (std::size_t l = 0; l < settings_.angles; ++l, to += means_) {
        modulus(image_, 0, j, l, to);
        if (j + 1 == settings_.scales) continue;
        ComplexValues& first = resolutions_[j].plane;
        resolutions_[j].fourier.to_spectrum(first);
        for (std::size_t next = j + 1; next < settings_.scales; ++next)
          for (std::size_t turn = 0; turn < settings_.angles; ++turn, second += means_)
            modulus(first, j, next, turn, second);
      }
    return second;
  }

  /// The modulus of wavelet j at angle l, of a spectrum at resolution r, which becomes the plane of resolution j;
  /// and its averages.
  void modulus(const ComplexValues& spectrum, std::size_t r, std::size_t j, std::size_t l, double* means) {
    Resolution& coarser = resolutions_[j];
    ComplexValues& plane = coarser.plane;
    filter(spectrum, resolutions_[r].wavelet(j, l), resolutions_[r].size(), std::size_t{1} << (j - r), plane);
    coarser.fourier.to_plane(plane);
    for (std::size_t i = 0; i < coarser.size().count(); ++i) {
      plane.re[i] = std::sqrt(plane.re[i] * plane.re[i] + plane.im[i] * plane.im[i]);
      plane.im[i] = 0;
    }
    coarser.average(plane.re.data(), means);
  }

  ScatteringSettings settings_;
  ImageShape in_;
  std::size_t means_;
  MirroredSide down_, across_;
  std::vector<Resolution> resolutions_;
  ComplexValues image_;
};

/// Of all resolutions, in double: shapes from a config may be any.
double bytes_of_wavelets(const ScatteringSettings& settings, const ImageShape& in) {
  double bytes = 0;
  const MirroredSide down(in.height, settings.square()), across(in.width, settings.square());
  for (std::size_t r = 0; r < settings.scales; ++r) {
    const std::size_t scales = r == 0 ? settings.scales : settings.scales - r - 1;
    const double pixels = static_cast<double>(down.outer >> r) * static_cast<double>(across.outer >> r);
    bytes += static_cast<double>(scales * settings.angles) * pixels * sizeof(double);
  }
  return bytes;
}
constexpr double most_bytes = 0x1p29;  // to make more would take minutes, too, in which nothing is seen to happen

class ScatteringPlan final : public ImageStepPlan {
 public:
  explicit ScatteringPlan(const ScatteringSettings& settings) : settings_(settings) {}

  ImageShape out(const ImageShape& in) const override {
    const std::size_t square = settings_.square(), side = std::min(in.height, in.width);
    if (square >= side)
      throw ConfigError(
          fmt::format("J={} averages over squares of {} pixels, and images of {} are not larger: make J smaller",
                      settings_.scales, square, in.text()));
    if (const double bytes = bytes_of_wavelets(settings_, in); bytes > most_bytes)
      throw ConfigError(fmt::format(
          "its wavelets of images of {} take {:.3g} GB on every rank, and at most {:.3g} GB are allowed: make J, L or the images smaller",
          in.text(), bytes * 1e-9, most_bytes * 1e-9));
    return {in.channels * settings_.channels(), in.height / square, in.width / square};
  }
  std::unique_ptr<ImageStep> make(const ImageShape& in) const override {
    return std::make_unique<Scattering>(settings_, in, out(in));
  }

 private:
  ScatteringSettings settings_;
};

}  // namespace

ImageStepKind scattering_kind() {
  return {"scattering", "scattering J=SCALES L=ANGLES",
          [](StepWords& words) -> std::unique_ptr<const ImageStepPlan> {
            const std::size_t scales = words.named_number("J", 10);
            return std::make_unique<ScatteringPlan>(ScatteringSettings{scales, words.named_number("L", 32)});
          }};
}

}  // namespace dpmpi
