#include "dpmpi/objective/mlp_shape.hpp"

namespace dpmpi {

std::size_t MlpShape::weight_offset(std::size_t l) const {
  std::size_t offset = 0;
  for (std::size_t k = 0; k < l; ++k) offset += parameters(k);
  return offset;
}

}  // namespace dpmpi
