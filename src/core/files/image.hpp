#pragma once
// Grey images, and PNG files of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dpmpi {

struct GreyImage {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  ///< height x width, row-major; 0 is black
};

/// The bytes of a PNG file (ISO/IEC 15948), 8 bits a pixel. BugError for an image without pixels. Local.
std::string png(const GreyImage& image);

/// `count` pictures of rows x columns pixels, one after the other in `values`, side by side with a grey line
/// between them: `across` in a row, the last row filled up. Values from -1 (black) to 1 (white) are rounded to 8
/// bits, others moved there, NaN is black. Local.
GreyImage sheet(const std::vector<float>& values, std::size_t count, std::size_t rows, std::size_t columns,
                std::size_t across);

}  // namespace dpmpi
