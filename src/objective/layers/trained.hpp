#pragma once
// Which layers of a network are trained. The others stay what they were at the start: no gradient is formed by
// their parameters, none counts in a norm, and none is part of a sum. So do layers with an adapter, but for the
// adapter.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

/// Layers of a list, counted from 1.
class TrainedLayers {
 public:
  TrainedLayers() = default;  ///< all
  /// "8,10", or "from 8" for that and all behind it; empty: all of `count`. Appends a problem where it is none.
  TrainedLayers(std::string_view text, std::size_t count, std::vector<std::string>& problems);
  bool has(std::size_t number) const { return trained_.empty() || trained_[number - 1]; }

 private:
  std::vector<bool> trained_;
};

/// The parameters of a network that are trained: one after the other, they are those of an objective.
class TrainedPart {
 public:
  /// Of a network with these groups, called "3.weight" where they are of layer 3. Throws ConfigError if none of
  /// them is trained.
  TrainedPart(const std::vector<ParameterGroup>& all, const TrainedLayers& layers);

  std::size_t size() const { return size_; }
  bool is_all() const { return runs_.size() == 1 && runs_[0].in_network == 0 && runs_[0].size == of_network_; }
  std::size_t first_layer() const { return first_layer_; }  ///< the first that is trained, from 0
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  /// The same groups, where they stand in the network.
  const std::vector<ParameterGroup>& in_network() const { return in_network_; }

  /// Calls visit(where in the network, where in the part, how many) for parameters that stand together in both.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    for (const Run& run : runs_) visit(run.in_network, run.first, run.size);
  }
  /// Parameters to their places in the network, and back.
  template <class From, class To>
  void put(const From& part, To& network) const {
    for_each_run([&](std::size_t in_network, std::size_t first, std::size_t count) {
      for (std::size_t j = 0; j < count; ++j) network[in_network + j] = part[first + j];
    });
  }
  template <class From, class To>
  void take(const From& network, To& part) const {
    for_each_run([&](std::size_t in_network, std::size_t first, std::size_t count) {
      for (std::size_t j = 0; j < count; ++j) part[first + j] = network[in_network + j];
    });
  }

 private:
  struct Run {
    std::size_t in_network, first, size;
  };
  std::vector<Run> runs_;
  std::vector<ParameterGroup> groups_, in_network_;
  std::size_t size_ = 0, of_network_ = 0, first_layer_ = 0;
};

}  // namespace dpmpi
