#pragma once
// Scores of records by a trained model, and what they say.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "run/evaluate/trained_model.hpp"

namespace dpmpi {

/// Calls take(block, row, scores) at w for every record of this rank, in the file's order (empty slots left out),
/// with objective.outputs() scores, without class weights (PopulationModel); never where there are none. Local.
void for_each_score(
    Objective& objective, std::span<const float> w, const Shard& shard,
    const std::function<void(const Block& block, std::uint32_t row, std::span<const float> scores)>& take);

/// Whether scores say what labels are. Those of a critic, or of a policy's values, do not.
bool predicts_labels(const Objective& objective);
/// Sign labels: 0 for -1, 1 for +1. Classes: the first of the largest score.
std::size_t predicted_class(const Objective& objective, std::span<const float> scores);
/// Real labels: the score. Counts: exp of it, the rate. What is no number, or beyond float32, is float32's largest.
float predicted_quantity(const Objective& objective, float score);
/// Of class k (sign labels: 0 is -1, 1 is +1), from logits; NaN if they are not finite.
double probability(std::span<const float> logits, std::size_t k);

}  // namespace dpmpi
