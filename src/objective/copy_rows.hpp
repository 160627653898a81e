#pragma once
// Records of any storage as dense rows (features, bias, zero padding) in scratch: what matrix products read.

#include <cstddef>
#include <optional>

#include "data/records/records.hpp"

namespace dpmpi {

/// Writes row i of `rows` to out[i * stride ...]: its features, then the record's constant column (where
/// records.bias != 0), then zeros up to `stride`. A feature of an 8-bit record is the float32 product row_scale *
/// byte in both precisions. `stride` >= features + (bias != 0). T: float or double. `left_out`: a feature (from 0)
/// that is not written; those behind it move up.
template <class T>
void copy_rows(const Rows& rows, std::size_t stride, T* out, std::optional<std::size_t> left_out = {});

/// Feature j of record i, as copy_rows writes it.
float feature_of(const Records& records, std::size_t i, std::size_t j);

}  // namespace dpmpi
