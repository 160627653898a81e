#pragma once
// Takes a look: what it will cost is settled from what is public, then the ledger has its lines, and then the
// records are counted.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/communicator.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/look/look_plan.hpp"

namespace dpmpi {

struct LookRequest {
  static constexpr const char* file_option = "--private";

  double epsilon = 0;                    ///< of this look
  std::optional<double> delta = {};      ///< none: that of the ledger; of a new one n^-1.1
  std::optional<double> budget = {};     ///< epsilon of all looks together; none: that of the ledger, if it has one
  std::optional<Adjacency> adjacency{};  ///< none: that of the ledger; of a new one the run's
  std::int64_t records = 0;              ///< public number of records or persons; 0: they are counted
  std::int64_t seed = -1;                ///< >= 0: tests only, epsilon is infinity
  std::string ledger = {}, output = {};  ///< empty: beside the records; the next folder in RUN/looks
};

/// A model with the file of the people to look at. Local. Throws as model_at does, and ConfigError if the file may
/// not be looked at.
ModelToScore model_to_look_at(const std::string& place, const std::string& people,
                              const std::vector<std::string>& overrides, const LookRequest& request);

/// What is settled before a record is read.
struct LookAhead {
  LookTerms terms;
  Guarantee own, all;   ///< of this look, and of all in the ledger with it
  std::string ledger;   ///< path
  bool begins = false;  ///< it is the first look
};
struct Look {
  std::string folder;
  nlohmann::ordered_json document, results;  ///< look.json and evaluation.json there
};

/// Collective; valid on the root, where `ahead` is told what comes. All ranks throw alike: PrivacyError if the
/// budget would not hold or the ledger is not one of looks like this, ConfigError if the model has nothing to count
/// or the noise would leave nothing to say, DataError. Whatever throws before the ledger has its lines costs
/// nothing; a look that is killed from then on has cost what they say.
Look take_look(const Communicator& comm, const ModelToScore& model, const LookRequest& request,
               const std::function<void(const LookAhead&)>& ahead);

}  // namespace dpmpi
