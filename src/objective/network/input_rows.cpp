#include "objective/network/input_rows.hpp"

#include <algorithm>

#include "objective/math/dot.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {

InputRows::InputRows(const MlpShape& shape, std::size_t rows)
    : shape_(shape),
      most_rows_(rows),
      copied_(0, shape.width(0)),
      zeros_(shape.width(0), 0.0F),
      in_place_(rows, zeros_.data()),
      entries_(rows) {}

std::size_t InputRows::gather(const Rows& rows) {
  check_inputs(shape_, rows);
  const Storage storage = rows.records.storage;
  sparse_ = storage == Storage::sparse_f32;
  if (sparse_)
    gather_entries(rows);
  else if (storage == Storage::dense_f32 && !shape_.left_out)
    gather_floats(rows);
  else
    gather_copies(rows);
  const std::size_t padded = round_up(rows.size(), 16);
  for (std::size_t r = rows.size(); r < padded; ++r) zero(r);
  return padded;
}

void InputRows::gather_entries(const Rows& rows) {
  const Records& records = rows.records;
  entries_.column.clear();
  entries_.value.clear();
  const auto add = [&](std::size_t column, float value) {
    entries_.column.push_back(static_cast<std::uint32_t>(column));
    entries_.value.push_back(value);
  };
  const std::size_t left_out = shape_.left_out.value_or(records.features);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::uint32_t i = rows.index[r];
    entries_.begin[r] = entries_.column.size();
    for (std::uint64_t e = records.row_begin[i]; e < records.row_begin[i + 1]; ++e)
      if (const std::uint32_t column = records.column[e]; column != left_out)
        add(column - (column > left_out ? 1 : 0), records.value[e]);
    if (records.bias != 0) add(shape_.inputs(0), records.bias);
    entries_.end[r] = entries_.column.size();
  }
}

/// The first features stand in memory as products read them.
void InputRows::gather_floats(const Rows& rows) {
  const Records& records = rows.records;
  make_room(records.features / 16 * 16);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const float* row = records.row_f32(rows.index[r]);
    in_place_[r] = row;
    float* rest = std::copy(row + whole_, row + records.features, copied_.row(r));
    if (records.bias != 0) *rest++ = records.bias;
    std::fill(rest, copied_.row(r + 1), 0.0F);
  }
}

void InputRows::gather_copies(const Rows& rows) {
  make_room(0);
  copy_inputs(shape_, rows, copied_.row(0));
}

/// Of all but the first `whole` columns; at the first micro-batch of a storage that needs it.
void InputRows::make_room(std::size_t whole) {
  whole_ = whole;
  copied_.width = shape_.width(0) - whole;
  if (copied_.values.size() < most_rows_ * copied_.width) copied_.values.resize(most_rows_ * copied_.width);
}

void InputRows::zero(std::size_t r) {
  if (sparse_) {
    entries_.end[r] = entries_.begin[r];
    return;
  }
  in_place_[r] = zeros_.data();
  std::fill_n(copied_.row(r), copied_.width, 0.0F);
}

double InputRows::squared_norm(std::size_t r) const {
  if (sparse_) return InterleavedSum::square_of_entries(entries_.columns(r), entries_.values(r));
  InterleavedSum sum;
  sum.add(in_place_[r], in_place_[r], whole_);
  return sum.total(copied_.row(r), copied_.row(r), copied_.width);
}

}  // namespace dpmpi
