#pragma once
// The public losses of a run, one after the other: whether they go the wrong way.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/evaluate/evaluate.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

class LossHistory {
 public:
  /// `minimised`: the method makes the loss small, which that of a min-max problem is not. `name`: of the loss.
  explicit LossHistory(bool minimised = false, std::string_view name = "loss")
      : minimised_(minimised), name_(name) {}

  /// The evaluation after `step` steps, in order from the start point on. A warning where the loss is no number or
  /// has left its start far behind, once in a run; of the `last` evaluation also where it ends above its start, or
  /// has lost most of what was won.
  std::optional<Warning> add(std::uint64_t step, const Evaluation& evaluation, bool last);
  /// Takes the lines of a metrics.jsonl that a run goes on with. Throws DataError.
  void read(const std::string& metrics, const std::string& place);

 private:
  void take(std::uint64_t step, double loss);
  std::optional<Warning> look(std::uint64_t step, const Evaluation& evaluation, bool last) const;
  std::string from_to(double from, std::uint64_t step, double to) const;

  struct Point {
    std::uint64_t step = 0;
    double loss = 0;
  };
  bool minimised_, warned_ = false;
  std::string name_;
  std::optional<Point> start_, best_;
};

}  // namespace dpmpi
