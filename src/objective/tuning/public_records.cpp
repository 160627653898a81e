#include "objective/tuning/public_records.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "objective/copy_rows.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {

double PublicSet::bytes(std::size_t count, std::size_t features) {
  return 8.0 * static_cast<double>(round_up(count, 8)) * static_cast<double>(features + 1);
}

PublicSet::PublicSet(const Records& records) : features(records.features) {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < records.count; ++i)
    if (takes_part(records, i)) kept.push_back(i);
  count = kept.size();
  stride = round_up(count, 8);
  x.resize(features * stride);
  y.resize(stride);
  std::vector<double> row(features + 1);
  for (std::size_t k = 0; k < count; ++k) {
    copy_rows(Rows{records, std::span(kept).subspan(k, 1)}, row.size(), row.data());
    for (std::size_t j = 0; j < features; ++j) x[j * stride + k] = row[j];
    y[k] = static_cast<double>(records.label[kept[k]]);
  }
}

}  // namespace dpmpi
