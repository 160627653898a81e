#pragma once
// A config of which some options are searched for: their values are coordinates of points in a box.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "objective/tuning/hyper_parameters.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// An option that is searched for: a number between two bounds, or one of a list of values.
struct SearchedOption {
  std::string key;  ///< section.key
  TunedRange range;
  std::vector<std::string> listed;  ///< empty: the range counts

  /// "section.key:low:high", or "section.key:a|b|c". Throws ConfigError.
  static SearchedOption parse(const std::string& text);
  /// Of a finite coordinate: what lies there. Each of a list has an equal part of the box.
  std::string at(double coordinate, bool whole) const;
  /// Coordinates at the bounds, or of everything in the list.
  std::vector<double> levels() const;
};

class SearchedConfig {
 public:
  /// `searched`: entries as of SearchedOption, of sections [method] and [objective]. Throws ConfigError that names
  /// the file or the entry, also where the config would search itself.
  SearchedConfig(const std::string& path, const std::vector<std::string>& searched,
                 ConfigOf whose = ConfigOf::user);

  const RunConfig& base() const { return *base_; }  ///< as its file stands
  const HyperParameters& hyper_parameters() const { return hyper_; }
  const std::vector<SearchedOption>& options() const { return options_; }  ///< in the order of coordinates

  /// "section.key=value" of each at a point (finite numbers): what a user would --set.
  std::vector<std::string> settings(std::span<const double> point) const;
  /// Those of them that are in a list of [objective]: they may decide on the shape of a model.
  std::vector<std::string> shape(const std::vector<std::string>& settings) const;
  /// All shapes that there are. Throws ConfigError if these are too many.
  std::vector<std::vector<std::string>> shapes() const;
  /// The config with these settings in place of its own. Throws ConfigError that names them.
  std::unique_ptr<RunConfig> with(const std::vector<std::string>& settings) const;

 private:
  std::string path_;
  ConfigOf whose_;
  Settings text_;  // read once: what follows in a run must not depend on later changes of the file
  std::unique_ptr<const RunConfig> base_;
  HyperParameters hyper_;
  std::vector<SearchedOption> options_;
};

}  // namespace dpmpi
