#pragma once
// Records as a module gets them: always the same number of them in the same places of memory, since products of
// matrices round a row differently where there are more or fewer of them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "objective/python/host/loss_module.hpp"

namespace dpmpi::python {

/// Records of a call of the plugin interface.
struct GivenRecords {
  const float* records;
  std::uint64_t stride, count;
  const float* labels;  ///< null: there are none
};

/// Views for one call; whoever made them checks afterwards that nobody kept one.
struct Arrays {
  pybind11::object points, X, y;
};

class Batch {
 public:
  Batch(const LossModule& module, std::uint64_t columns);

  /// Brings the records that count to the front and fills up with copies of the first one. False if none counts.
  bool fill(const GivenRecords& given);
  /// Of the records given last, those that count, in the order of the batch.
  const std::vector<std::uint64_t>& kept() const { return kept_; }
  /// `points`: of these dimensions, as numpy has them.
  Arrays arrays(const float* points, const std::vector<pybind11::ssize_t>& shape);

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  void copy(const GivenRecords& given);
  void copy_labels(const GivenRecords& given);

  const LossModule& module_;
  std::uint64_t columns_, stride_ = 0;
  std::vector<std::uint64_t> kept_;
  std::unique_ptr<float, Free> own_;  ///< batch x stride: of a batch that was filled up
  const float* records_ = nullptr;    ///< of this batch
  std::vector<float> labels_, points_;
  std::vector<std::int64_t> classes_;
};

}  // namespace dpmpi::python
