#include "data/load/transformed.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// The same doubles whether a pixel is a byte or a float.
void read_pixels(const Records& images, std::size_t row, std::span<double> out) {
  if (images.storage == Storage::dense_f32) {
    std::copy_n(images.row_f32(row), out.size(), out.begin());
    return;
  }
  const auto scale = static_cast<double>(images.row_scale[row]);
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = scale * static_cast<double>(images.row_u8(row)[j]);
}

}  // namespace

std::optional<ImageTransform> transform_of(const ReadingRules& rules) {
  std::vector<std::string> problems;
  auto transform = read_transform(rules.image, rules.transform, problems);
  verify(problems.empty(), "a config is checked before its files are opened");
  return transform;
}

void check_images(const ImageTransform& transform, const Layout& layout, const std::string& path) {
  if (layout.storage == Storage::sparse_f32)
    throw ConfigError(fmt::format(
        "{}: data.transform takes images with all their pixels, and the rows of this file are sparse: set "
        "data.storage = dense (of LIBSVM text too)",
        path));
  if (layout.features != transform.in.size())
    throw ConfigError(fmt::format("{}: records have {} features, and images of data.image = {} have {} pixels",
                                  path, layout.features, transform.in.text(), transform.in.size()));
}

Records transformed(TransformedImage& work, Records images, std::size_t features, const RowRule& rule,
                    Progress& progress) {
  RecordsBuilder builder(Storage::dense_f32, features, images.count, rule);
  for (std::size_t i = 0; i < images.count; ++i) {
    if (!std::isnan(images.label[i])) {
      read_pixels(images, i, work.image());
      work.transform({builder.dense_row(), features});
    }
    builder.finish_row(images.label[i]);
    progress.add();
  }
  Records made = builder.take();
  made.weight = std::move(images.weight);
  made.offset = std::move(images.offset);
  made.person_begin = std::move(images.person_begin);
  made.person = std::move(images.person);
  return made;
}

}  // namespace dpmpi
