#pragma once
// Layers whose weights stay what they were at the start, but for a product of low rank.

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "objective/layers/kinds.hpp"

namespace dpmpi {

/// Tensors of an adapter, which a model that it is put on does not have.
inline constexpr std::string_view adapter_down = "adapter_down", adapter_up = "adapter_up";
/// Of "3.adapter_up", as a network calls it, too.
inline bool is_of_adapter(std::string_view name) {
  return name.ends_with(adapter_down) || name.ends_with(adapter_up);
}
/// Whether this group of `all` stays what it is, for its layer has an adapter.
bool has_adapter(const ParameterGroup& group, const std::vector<ParameterGroup>& all);

/// How a layer makes the gradient by its weights.
enum class WeightGradient {
  as_it_does,
  /// It is the product of what comes in with what goes back, and the layer makes none where there is no place for
  /// it.
  one_product
};

/// The same layer at weights W + A B, with A of `rank` columns. Its parameters are weights W, `inputs` (of what
/// comes in) by channels behind, and a bias for each of the latter.
std::shared_ptr<const LayerPlan> adapted(std::shared_ptr<const LayerPlan> plan, std::size_t rank,
                                         WeightGradient gradient, std::function<std::size_t(const Volume&)> inputs);

}  // namespace dpmpi
