#include "objective/network/input_rows.hpp"

#include <algorithm>

#include "objective/math/dot.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {

InputRows::InputRows(const MlpShape& shape, std::size_t rows)
    : shape_(shape), copied_(rows, shape.width(0)), zeros_(shape.width(0), 0.0F), in_place_(rows, zeros_.data()) {}

std::size_t InputRows::gather(const Rows& rows) {
  const Records& records = rows.records;
  const std::size_t padded = round_up(rows.size(), 16), width = shape_.width(0);
  whole_ = records.storage == Storage::dense_f32 && !shape_.left_out ? records.features / 16 * 16 : 0;
  copied_.width = width - whole_;
  if (whole_ == 0) {
    copy_inputs(shape_, rows, copied_.row(0));
  } else {
    check_inputs(shape_, rows);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const float* row = records.row_f32(rows.index[r]);
      in_place_[r] = row;
      float* rest = std::copy(row + whole_, row + records.features, copied_.row(r));
      if (records.bias != 0) *rest++ = records.bias;
      std::fill(rest, copied_.row(r + 1), 0.0F);
    }
  }
  for (std::size_t r = rows.size(); r < padded; ++r) zero(r);
  return padded;
}

void InputRows::zero(std::size_t r) {
  in_place_[r] = zeros_.data();
  std::fill_n(copied_.row(r), copied_.width, 0.0F);
}

double InputRows::squared_norm(std::size_t r) const {
  InterleavedSum sum;
  sum.add(in_place_[r], in_place_[r], whole_);
  return sum.total(copied_.row(r), copied_.row(r), copied_.width);
}

}  // namespace dpmpi
