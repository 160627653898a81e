#include "objective/python/host/batch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

namespace dpmpi::python {
namespace {

namespace py = pybind11;

/// Numbers that stay where they are, and that numpy lets nobody write to unless `writeable`.
template <class T>
py::object view(const T* numbers, const std::vector<py::ssize_t>& shape, py::ssize_t row_bytes, bool writeable) {
  std::vector<py::ssize_t> strides{static_cast<py::ssize_t>(sizeof(T))};
  if (shape.size() == 2) strides.insert(strides.begin(), row_bytes);
  py::array_t<T> array(shape, strides, numbers, py::none());
  if (!writeable) py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

}  // namespace

void Batch::Free::operator()(float* memory) const { std::free(memory); }

Batch::Batch(const LossModule& module, std::uint64_t columns)
    : module_(module), columns_(columns), labels_(module.batch()), classes_(module.batch()) {
  kept_.reserve(module.batch());
}

bool Batch::fill(const GivenRecords& given) {
  kept_.clear();
  for (std::uint64_t r = 0; r < given.count; ++r)
    if (given.labels == nullptr || std::isfinite(given.labels[r])) kept_.push_back(r);
  if (kept_.empty()) return false;
  records_ = given.records;
  if (stride_ != given.stride) own_.reset();
  stride_ = given.stride;
  // Torch has no views that are only read.
  if (kept_.size() < module_.batch() || module_.torch()) copy(given);
  if (given.labels != nullptr) copy_labels(given);
  return true;
}

// With the stride that they had: a product reads both kinds of batches alike.
void Batch::copy(const GivenRecords& given) {
  if (!own_) {
    const std::size_t bytes = (module_.batch() * stride_ * sizeof(float) + 63) / 64 * 64;
    own_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    if (!own_) throw std::bad_alloc();
    std::fill_n(own_.get(), module_.batch() * stride_, 0.0F);
  }
  for (std::uint64_t b = 0; b < module_.batch(); ++b)
    std::copy_n(given.records + kept_[b < kept_.size() ? b : 0] * stride_, columns_, own_.get() + b * stride_);
  records_ = own_.get();
}

void Batch::copy_labels(const GivenRecords& given) {
  for (std::uint64_t b = 0; b < module_.batch(); ++b) {
    labels_[b] = given.labels[kept_[b < kept_.size() ? b : 0]];
    classes_[b] = static_cast<std::int64_t>(labels_[b]);
  }
}

Arrays Batch::arrays(const float* points, const std::vector<py::ssize_t>& shape) {
  const auto rows = static_cast<py::ssize_t>(module_.batch());
  const auto row_bytes = static_cast<py::ssize_t>(stride_ * sizeof(float));
  const bool torch = module_.torch();
  Arrays arrays;
  if (torch) {
    points_.assign(points, points + shape.back() * (shape.size() == 2 ? shape.front() : 1));
    points = points_.data();
  }
  arrays.points = view(points, shape, shape.back() * static_cast<py::ssize_t>(sizeof(float)), torch);
  arrays.X = view(records_, {rows, static_cast<py::ssize_t>(columns_)}, row_bytes, torch);
  arrays.y = module_.label_kind() == DPMPI_LABEL_CLASS ? view(classes_.data(), {rows}, 0, torch)
                                                       : view(labels_.data(), {rows}, 0, torch);
  if (torch)
    for (py::object* const array : {&arrays.points, &arrays.X, &arrays.y})
      *array = module_.torch_module().attr("from_numpy")(*array);
  return arrays;
}

}  // namespace dpmpi::python
