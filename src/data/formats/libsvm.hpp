#pragma once
// LIBSVM text: `label index:value index:value ... # comment`, indices ascending.

#include "data/formats/format.hpp"

namespace dpmpi {

/// Rows of storage sparse_f32, or dense_f32 (data.storage = dense).
class Libsvm final : public Format {
 public:
  using Format::Format;

  Layout inspect(const std::vector<Head>& files) override;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
};

}  // namespace dpmpi
