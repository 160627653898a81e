#pragma once
// A config of which some options are searched for: their values are coordinates of points in a box.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "objective/tuning/hyper_parameters.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

class SearchedConfig {
 public:
  /// `searched`: entries "section.key:low:high" of sections [method] and [objective]. Throws ConfigError that names
  /// the file or the entry, also where the config would search itself.
  SearchedConfig(const std::string& path, const std::vector<std::string>& searched,
                 ConfigOf whose = ConfigOf::user);

  const RunConfig& base() const { return *base_; }      ///< as its file stands
  const RunConfig& centre() const { return *centre_; }  ///< with the values in the middle of the box
  const HyperParameters& hyper_parameters() const { return hyper_; }
  const std::vector<std::string>& keys() const { return keys_; }  ///< in the order of coordinates

  /// "section.key=value" of each at a point (finite numbers): what a user would --set.
  std::vector<std::string> settings(std::span<const double> point) const;
  /// The config with these settings in place of its own. Throws ConfigError that names them.
  std::unique_ptr<RunConfig> with(const std::vector<std::string>& settings) const;

 private:
  std::string path_;
  ConfigOf whose_;
  Settings text_;  // read once: what follows in a run must not depend on later changes of the file
  std::unique_ptr<const RunConfig> base_, centre_;
  HyperParameters hyper_;
  std::vector<std::string> keys_;
};

}  // namespace dpmpi
