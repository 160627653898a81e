#include "data/load/row_bytes.hpp"

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "data/records/builder.hpp"

namespace dpmpi {
namespace {

template <class T>
void append_values(const T* values, std::size_t count, std::string& to) {
  to.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

void copy_to(std::string_view bytes, void* to) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

/// Which factors follow in a row: these, in this order.
enum : char { weighted = 1, exposed = 2 };

char factors_of(const Records& records) {
  return static_cast<char>((records.weight.empty() ? 0 : weighted) | (records.offset.empty() ? 0 : exposed));
}

/// A factor of a row, of records that may have none so far.
void put_factor(std::string_view bytes, float otherwise, std::size_t row, Records& records,
                std::vector<float>& factors) {
  if (bytes.empty()) return;
  if (factors.empty()) factors.resize(records.count, otherwise);
  copy_to(bytes, &factors[row]);
}

}  // namespace

std::uint32_t entries_of(const Records& records, std::size_t row) {
  if (records.storage != Storage::sparse_f32) return 0;
  return static_cast<std::uint32_t>(records.row_begin[row + 1] - records.row_begin[row]);  // features are 32-bit
}

Records empty_rows(Storage storage, std::size_t features, float bias, std::size_t rows,
                   std::span<const std::uint32_t> entries) {
  Records records = RecordsBuilder(storage, features, rows, {.bias = bias}).take();
  if (storage != Storage::sparse_f32) return records;
  for (std::size_t i = 0; i < rows; ++i)
    records.row_begin[i + 1] = records.row_begin[i] + (i < entries.size() ? entries[i] : 0);
  records.column.resize(records.row_begin[rows]);
  records.value.resize(records.row_begin[rows]);
  return records;
}

void append_row(const Records& records, std::size_t row, std::string& to) {
  append_values(&records.label[row], 1, to);
  append_values(&records.norm[row], 1, to);
  to += factors_of(records);
  for (const auto* factors : {&records.weight, &records.offset})
    if (!factors->empty()) append_values(&(*factors)[row], 1, to);
  if (records.storage == Storage::dense_f32) return append_values(records.row_f32(row), records.features, to);
  const std::uint64_t begin = records.row_begin[row];
  const std::uint32_t entries = entries_of(records, row);
  append_values(&entries, 1, to);
  append_values(records.column.data() + begin, entries, to);
  append_values(records.value.data() + begin, entries, to);
}

std::size_t mean_row_bytes(const Records& records) {
  const std::size_t factors = (records.weight.empty() ? 0 : 1) + (records.offset.empty() ? 0 : 1);
  const std::size_t head = (2 + factors) * sizeof(float) + 1;  // label, norm, and which factors there are
  if (records.storage == Storage::dense_f32) return head + records.features * sizeof(float);
  constexpr std::size_t entry = sizeof(std::uint32_t) + sizeof(float);
  return head + sizeof(std::uint32_t) + records.column.size() * entry / std::max<std::size_t>(1, records.count);
}

std::string_view RowBytes::take(std::size_t size) {
  verify(rest_.size() >= size, "rows arrive whole");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

bool RowBytes::next() {
  if (rest_.empty()) return false;
  label_ = take(sizeof(float));
  norm_ = take(sizeof(float));
  const char factors = take(1).front();
  weight_ = take((factors & weighted) != 0 ? sizeof(float) : 0);
  offset_ = take((factors & exposed) != 0 ? sizeof(float) : 0);
  if (sparse_) {
    std::uint32_t entries = 0;
    copy_to(take(sizeof entries), &entries);
    entries_ = entries;
    columns_ = take(entries_ * sizeof(std::uint32_t));
  }
  values_ = take(entries_ * sizeof(float));
  return true;
}

void RowBytes::put(Records& records, std::size_t row) const {
  copy_to(label_, &records.label[row]);
  copy_to(norm_, &records.norm[row]);
  put_factor(weight_, 1, row, records, records.weight);
  put_factor(offset_, 0, row, records, records.offset);
  if (!sparse_) return copy_to(values_, records.f32.data() + row * records.stride);
  verify(entries_of(records, row) == entries_, "a row has as many entries as were announced");
  copy_to(columns_, records.column.data() + records.row_begin[row]);
  copy_to(values_, records.value.data() + records.row_begin[row]);
}

}  // namespace dpmpi
