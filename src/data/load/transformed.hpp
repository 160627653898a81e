#pragma once
// Images as they are read become the features that data.transform makes of them.

#include <optional>
#include <string>

#include "core/console/progress.hpp"
#include "data/formats/format.hpp"
#include "data/records/builder.hpp"
#include "data/records/options.hpp"
#include "data/transform/image_transform.hpp"

namespace dpmpi {

/// Of a config that was checked.
std::optional<ImageTransform> transform_of(const ReadingRules& rules);

/// Throws ConfigError if the records of the file `path` are no images of the shape that it takes.
void check_images(const ImageTransform& transform, const Layout& layout, const std::string& path);

/// Records whose features are made of the pixels of `images`, each by itself, as float32 with this rule; all else
/// is as it was. Empty slots stay empty. Local.
Records transformed(TransformedImage& work, Records images, std::size_t features, const RowRule& rule,
                    Progress& progress);

}  // namespace dpmpi
