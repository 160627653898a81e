#pragma once
// The losses of a module for records of some columns: the handle of the plugin interface.

#include <cstdint>
#include <string>

#include "objective/python/host/batch.hpp"
#include "objective/python/host/interpreter.hpp"
#include "objective/python/host/loss_module.hpp"

namespace dpmpi::python {

class Losses {
 public:
  /// `module` must outlive this. Throws std::runtime_error, or what pybind11 throws.
  Losses(const LossModule& module, std::uint64_t columns);

  std::uint64_t dim() const { return dim_; }
  const LossModule& module() const { return module_; }
  std::uint64_t outputs() const;

  // As the functions of dpmpi_plugin. None throws: failure() says what went wrong in the last one.
  void losses(const float* w, const GivenRecords& given, double* out);
  void losses_at(const float* points, std::uint64_t many, const GivenRecords& given, double* out);
  void scores(const float* w, const GivenRecords& given, float* out);
  void synthetic(std::uint64_t count, float* records, std::uint64_t stride, float* labels);
  void private_from_now();
  const char* failure() const { return failure_.empty() ? nullptr : failure_.c_str(); }

 private:
  template <class Call>
  void guarded(Call call);
  pybind11::array_t<double> numbers(pybind11::object result, const char* function,
                                    const std::vector<pybind11::ssize_t>& shape) const;
  void take_synthetic(const pybind11::object& made, std::uint64_t count, float* records, std::uint64_t stride,
                      float* labels) const;

  const LossModule& module_;
  std::uint64_t columns_, dim_ = 0;
  Batch batch_;
  RecordsAre records_ = RecordsAre::made_up;
  std::string failure_;
};

}  // namespace dpmpi::python
