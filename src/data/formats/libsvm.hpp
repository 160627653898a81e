#pragma once
// LIBSVM text: `label index:value index:value ... # comment`, indices ascending.

#include <cstdint>
#include <string_view>

#include "data/records/builder.hpp"
#include "data/records/labels.hpp"
#include "data/records/text_lines.hpp"

namespace dpmpi {

struct LibsvmRule {
  std::uint32_t index_base = 1;  ///< number of the first feature
};

/// Appends all records of `text` (whole lines) to `out` (sparse_f32, or dense_f32 to densify) and moves `position`
/// behind them. Throws DataError with file, line, value and what is allowed. Local.
void parse_libsvm(std::string_view text, TextPosition& position, const LibsvmRule& rule, const FeatureMap& map,
                  const LabelRule& labels, RecordsBuilder& out);

}  // namespace dpmpi
