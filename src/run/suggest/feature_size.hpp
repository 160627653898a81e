#pragma once
// How long a record's vector of features is, as far as the config says it.

#include <string>

#include "data/records/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

struct FeatureSize {
  double length = 1;  ///< of the features and the bias of a typical record
  std::string why;    ///< where that comes from
};
/// From settings and public facts alone. Local; finite and above 0.
FeatureSize feature_size(const ReadingRules& rules, const DatasetFacts& data);

}  // namespace dpmpi
