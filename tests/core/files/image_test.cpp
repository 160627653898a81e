#include "core/files/image.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "support/png_reader.hpp"

namespace dpmpi::image_test {
namespace {

GreyImage noise(std::size_t width, std::size_t height) {
  GreyImage image{width, height, {}};
  const PublicStream stream(width, "image test");
  for (std::size_t i = 0; i < width * height; ++i)
    image.pixels.push_back(static_cast<std::uint8_t>(stream.word(i)));
  return image;
}

TEST(Png, AnotherReaderFindsThePixels) {
  EXPECT_EQ(test::cyclic_check("123456789"), 0xcbf43926U);  // the check value that the standard lists
  for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 2}, {231, 231}, {1000, 7}}) {
    const GreyImage image = noise(width, height);
    const GreyImage read = test::read_png(png(image));
    EXPECT_EQ(read.width, width);
    EXPECT_EQ(read.height, height);
    EXPECT_EQ(read.pixels, image.pixels);
  }
  GreyImage flat{500, 500, std::vector<std::uint8_t>(250000, 7)};
  EXPECT_LT(png(flat).size(), 2000U) << "it is compressed";
}

TEST(Png, TheReaderSeesEachSpoiltByte) {
  const std::string file = png(noise(5, 4));
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string spoilt = file;
    spoilt[i] = static_cast<char>(spoilt[i] ^ 4);
    EXPECT_THROW(test::read_png(spoilt), std::runtime_error) << "byte " << i;
  }
}

TEST(Png, AnImageHasPixels) {
  EXPECT_THROW(png({0, 3, {}}), BugError);
  EXPECT_THROW(png({2, 2, {1, 2, 3}}), BugError);
}

TEST(Sheet, PutsPicturesSideBySide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // Three pictures of 1 x 2 pixels, two across.
  const GreyImage image = sheet({-1, 1, 0, -0.5F, 9, nan}, 3, 1, 2, 2);
  EXPECT_EQ(image.width, 5U);
  EXPECT_EQ(image.height, 3U);
  EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{0, 255, 128, 128, 64,     //
                                                     128, 128, 128, 128, 128,  //
                                                     255, 0, 128, 128, 128}));
  EXPECT_THROW(sheet({1, 2, 3}, 2, 1, 2, 2), BugError);
  EXPECT_THROW(sheet({}, 0, 1, 2, 2), BugError);
}

}  // namespace
}  // namespace dpmpi::image_test
