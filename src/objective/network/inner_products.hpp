#pragma once
// Inner products of the rows of a micro-batch with one another: the norm of a sum of outer products follows from
// them, |sum_i d_i a_i^T|^2 = sum_ij <d_i, d_j> <a_i, a_j>.

#include <cstddef>
#include <span>

#include "objective/network/shape.hpp"

namespace dpmpi {

/// out[i * count + j] = <row first + i, row first + j> for j <= i < count, over the first `width` columns (a
/// multiple of 16). In float32 and in one order, so that the bits depend on the two rows alone, and
/// not on how they are stored. Other entries of
/// `out` (count^2) are overwritten too.
void inner_products(const LevelRows<float>& rows, std::size_t width, std::size_t first, std::size_t count,
                    std::span<float> out);

/// |out - exact| is at most this times the norms of the two rows, plus 2^-149 (width + 8) where products are
/// smaller than float32 can be.
double inner_product_error(std::size_t width);

}  // namespace dpmpi
