// Scattering against direct sums, and what is known of it whatever the image.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include <fmt/format.h>

#include "data/transform/image_transform.hpp"

namespace dpmpi::test::scattering_test {
namespace {

using std::numbers::pi;

struct Plane {
  int height, width;
  std::vector<double> values = std::vector<double>(static_cast<std::size_t>(height * width));
  double& at(int y, int x) { return values[static_cast<std::size_t>(y * width + x)]; }
  double at(int y, int x) const { return values[static_cast<std::size_t>(y * width + x)]; }
};

Plane mirrored(const Plane& image, int square) {
  Plane out{(image.height / square + 2) * square, (image.width / square + 2) * square};
  const auto inside = [](int i, int side) {
    i = std::abs(i);
    return i < side ? i : 2 * (side - 1) - i;
  };
  const int down = (out.height - image.height) / 2, across = (out.width - image.width) / 2;
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x)
      out.at(y, x) = image.at(inside(y - down, image.height), inside(x - across, image.width));
  return out;
}

/// |plane * wavelet j at angle l| at every 2^j-th pixel, by direct sums.
Plane modulus_by_sums(const Plane& plane, int j, int l, int angles) {
  const double deviation = 0.8 * std::pow(2, j), slant = 4.0 / angles, wave = 0.75 * pi / std::pow(2, j);
  const double angle = pi * l / angles;
  Plane bell{plane.height, plane.width}, re{plane.height, plane.width}, im{plane.height, plane.width};
  std::complex<double> mean = 0;
  double sum = 0;
  for (int y = 0; y < plane.height; ++y)
    for (int x = 0; x < plane.width; ++x)
      for (int down = -2; down <= 2; ++down)
        for (int across = -2; across <= 2; ++across) {
          const double v = y + down * plane.height, u = x + across * plane.width;
          const double along = u * std::cos(angle) + v * std::sin(angle),
                       over = v * std::cos(angle) - u * std::sin(angle);
          const double high =
              std::exp(-(along * along + slant * slant * over * over) / (2 * deviation * deviation));
          const std::complex<double> value = high * std::exp(std::complex<double>(0, wave * along));
          bell.at(y, x) += high, re.at(y, x) += value.real(), im.at(y, x) += value.imag();
          sum += high, mean += value;
        }
  const int every = 1 << j;
  Plane out{plane.height / every, plane.width / every};
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x) {
      std::complex<double> total = 0;
      for (int v = 0; v < plane.height; ++v)
        for (int u = 0; u < plane.width; ++u) {
          const int dy = (y * every - v + plane.height) % plane.height,
                    dx = (x * every - u + plane.width) % plane.width;
          total += plane.at(v, u) *
                   (std::complex<double>(re.at(dy, dx), im.at(dy, dx)) - mean / sum * bell.at(dy, dx)) / sum;
        }
      out.at(y, x) = std::abs(total);
    }
  return out;
}

/// Means under a Gaussian of deviation 0.4 squares around the corners between them, by direct sums.
void append_means(const Plane& plane, int square, int height, int width, std::vector<double>& out) {
  const double deviation = 0.4 * square;
  const auto weight = [&](int i, int centre, int side) {
    double all = 0;
    for (int copy = -2; copy <= 2; ++copy)
      all += std::exp(-std::pow((i - centre + copy * side) / deviation, 2) / 2);
    return all;
  };
  for (int a = 1; a <= height; ++a)
    for (int b = 1; b <= width; ++b) {
      double total = 0, weights = 0;
      for (int y = 0; y < plane.height; ++y)
        for (int x = 0; x < plane.width; ++x) {
          const double w = weight(y, a * square, plane.height) * weight(x, b * square, plane.width);
          total += w * plane.at(y, x), weights += w;
        }
      out.push_back(total / weights);
    }
}

std::vector<double> scattering_by_sums(const Plane& image, int scales, int angles) {
  const int square = 1 << scales, height = image.height / square, width = image.width / square;
  const Plane plane = mirrored(image, square);
  std::vector<double> means, first, second;
  append_means(plane, square, height, width, means);
  for (int j = 0; j < scales; ++j)
    for (int l = 0; l < angles; ++l) {
      const Plane one = modulus_by_sums(plane, j, l, angles);
      append_means(one, square >> j, height, width, first);
      for (int next = j + 1; next < scales; ++next)
        for (int turn = 0; turn < angles; ++turn)
          append_means(modulus_by_sums(one, next - j, turn, angles), square >> next, height, width, second);
    }
  means.insert(means.end(), first.begin(), first.end());
  means.insert(means.end(), second.begin(), second.end());
  return means;
}

ImageTransform images_to(const std::string& image, const std::vector<std::string>& steps) {
  std::vector<std::string> problems;
  auto made = read_transform(image, steps, problems);
  EXPECT_TRUE(made.has_value() && problems.empty());
  return *made;
}

std::vector<float> features_of(const ImageTransform& transform, TransformedImage& work,
                               const std::vector<double>& image) {
  std::ranges::copy(image, work.image().begin());
  std::vector<float> out(transform.out.size());
  work.transform(out);
  return out;
}
std::vector<float> features_of(const ImageTransform& transform, const std::vector<double>& image) {
  TransformedImage work(transform);
  return features_of(transform, work, image);
}

std::vector<double> random_image(std::size_t size, unsigned seed) {
  std::mt19937 numbers(seed);
  std::uniform_real_distribution<double> pixel(0, 1);
  std::vector<double> image(size);
  for (double& x : image) x = pixel(numbers);
  return image;
}

void expect_sums(int height, int width, int scales, int angles) {
  Plane image{height, width};
  image.values = random_image(image.values.size(), 1);
  const ImageTransform transform =
      images_to(fmt::format("1x{}x{}", height, width), {fmt::format("scattering J={} L={}", scales, angles)});
  const std::vector<double> expected = scattering_by_sums(image, scales, angles);
  const std::vector<float> found = features_of(transform, image.values);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-7) << "number " << i;
}

TEST(Scattering, HasTheValuesOfDirectSums) {
  expect_sums(9, 12, 2, 3);
  expect_sums(6, 5, 2, 8);
  expect_sums(3, 4, 1, 4);
}
TEST(Scattering, OfThreeScalesHasThemToo) { expect_sums(10, 14, 3, 2); }

TEST(Scattering, OfMnistHas81ChannelsOf7x7) {
  const ImageTransform transform = images_to("1x28x28", {"scattering J=2 L=8"});
  EXPECT_EQ(transform.out.text(), "81x7x7");
  EXPECT_EQ(images_to("3x32x32", {"scattering J=3 L=8"}).out.text(), "651x4x4");
}

TEST(Scattering, OfAnEvenImageIsItsBrightness) {
  const ImageTransform transform = images_to("1x28x28", {"scattering J=2 L=8"});
  const auto found = features_of(transform, std::vector<double>(28 * 28, 0.25));
  for (std::size_t i = 0; i < 49; ++i) EXPECT_FLOAT_EQ(found[i], 0.25F);
  for (std::size_t i = 49; i < found.size(); ++i) EXPECT_NEAR(found[i], 0, 1e-12);
}

TEST(Scattering, MovesWithTheImage) {
  const ImageTransform transform = images_to("1x48x48", {"scattering J=2 L=4"});
  std::vector<double> image(48 * 48), moved(48 * 48);
  const std::vector<double> blot = random_image(64, 2);
  for (std::size_t i = 0; i < 64; ++i) {
    image[(20 + i / 8) * 48 + 16 + i % 8] = blot[i];
    moved[(20 + i / 8) * 48 + 20 + i % 8] = blot[i];
  }
  const auto before = features_of(transform, image), after = features_of(transform, moved);
  for (std::size_t c = 0; c < transform.out.channels; ++c)
    for (std::size_t y = 2; y < 10; ++y)
      for (std::size_t x = 2; x < 9; ++x)
        EXPECT_NEAR(before[(c * 12 + y) * 12 + x], after[(c * 12 + y) * 12 + x + 1], 1e-6);
}

// Wavelets whose squared spectra add up to at most A make images at most sqrt(A) times as different.
TEST(Scattering, NumbersAreProportionalAndDoNotSpreadImagesApart) {
  const ImageTransform transform = images_to("1x28x28", {"scattering J=2 L=8"});
  TransformedImage work(transform);
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto a = random_image(784, seed), b = random_image(784, 100 + seed);
    std::vector<double> twice = a;
    double apart = 0, images_apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      twice[i] *= 2;
      images_apart += (a[i] - b[i]) * (a[i] - b[i]);
    }
    const auto of_a = features_of(transform, work, a), of_b = features_of(transform, work, b),
               doubled = features_of(transform, work, twice);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      apart += std::pow(of_a[i] - of_b[i], 2);
      EXPECT_FLOAT_EQ(doubled[i], 2 * of_a[i]);
    }
    EXPECT_LT(16 * apart, images_apart);  // one number for 16 pixels
  }
}

TEST(Scattering, OfAColourImageIsThatOfEachChannel) {
  const ImageTransform grey = images_to("1x12x16", {"scattering J=2 L=3"}),
                       colour = images_to("3x12x16", {"scattering J=2 L=3"});
  const auto image = random_image(3 * 12 * 16, 3);
  const auto found = features_of(colour, image);
  for (std::size_t c = 0; c < 3; ++c) {
    const auto begin = image.begin() + static_cast<std::ptrdiff_t>(c * 192);
    const auto alone = features_of(grey, {begin, begin + 192});
    for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(found[c * alone.size() + i], alone[i]);
  }
}

TEST(Scattering, OfAnImageDoesNotDependOnThoseBefore) {
  const ImageTransform transform = images_to("1x28x28", {"scattering J=3 L=4", "groupnorm 61"});
  TransformedImage work(transform);
  for (unsigned seed : {1U, 2U, 1U, 3U, 3U}) {
    const auto image = random_image(784, seed);
    EXPECT_EQ(features_of(transform, work, image), features_of(transform, image));
  }
}

TEST(ImageGroupNorm, MakesGroupsOfMean0AndSquare1) {
  const ImageTransform transform = images_to("6x4x5", {"groupnorm 3"});
  auto image = random_image(120, 4);
  for (double& x : image) x = 1000 * x + 77;
  const auto found = features_of(transform, image);
  for (std::size_t g = 0; g < 3; ++g) {
    double sum = 0, square = 0;
    for (std::size_t i = 40 * g; i < 40 * (g + 1); ++i) sum += found[i], square += found[i] * found[i];
    EXPECT_NEAR(sum, 0, 1e-4);
    EXPECT_NEAR(square, 40, 1e-3);
  }
  for (const float x : features_of(transform, std::vector<double>(120, 5.0))) EXPECT_EQ(x, 0);
}

TEST(ImageTransform, KeepsHugeNumbersFinite) {
  const ImageTransform transform = images_to("1x8x8", {"scattering J=1 L=4"});
  for (const float x : features_of(transform, std::vector<double>(64, 3.5e38))) EXPECT_TRUE(std::isfinite(x));
}

}  // namespace
}  // namespace dpmpi::test::scattering_test
