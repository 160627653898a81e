#include "objective/python/host/losses.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace dpmpi::python {
namespace {

namespace py = pybind11;
using Shape = std::vector<py::ssize_t>;

std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (const py::ssize_t n : shape) text += std::to_string(n) + ", ";
  text.resize(text.size() - (shape.size() > 1 ? 2 : 1));
  return text + ")";
}

/// Cut after some characters. Python writes no numbers of many thousand digits.
std::string shown(const py::object& value) {
  constexpr std::size_t most = 60;
  std::string text;
  try {
    text = py::repr(value).cast<std::string>();
  } catch (py::error_already_set&) {
    return "a " + value.get_type().attr("__name__").cast<std::string>() + " that cannot be shown";
  }
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

/// The views are gone with this call, so a module that still has one would read other records in it.
void refuse_kept(const Arrays& arrays, const char* function) {
  for (const py::object* const array : {&arrays.points, &arrays.X, &arrays.y})
    if (array->ref_count() > 1)
      throw std::runtime_error(std::string(function) +
                               " keeps one of its arrays after the call: a loss remembers nothing, and a copy of a "
                               "record is a record");
}

}  // namespace

Losses::Losses(const LossModule& module, std::uint64_t columns)
    : module_(module), columns_(columns), batch_(module, columns) {
  const SameRounding same;
  const py::object dim = module_.function("dim")(columns);
  constexpr std::int64_t most = 1'000'000'000'000;
  int beyond = 0;  // what an integer of 64 bits holds
  const bool is_whole = py::isinstance<py::int_>(dim);
  const std::int64_t number = is_whole ? PyLong_AsLongLongAndOverflow(dim.ptr(), &beyond) : 0;
  if (beyond != 0 || number < 1 || number > most)
    throw std::runtime_error("dim returned " + shown(dim) + ", allowed: a whole number from 1 to 10^12");
  dim_ = static_cast<std::uint64_t>(number);
}

std::uint64_t Losses::outputs() const {
  if (!module_.has("scores")) return 0;
  return std::max<std::uint64_t>(module_.classes(), 1);
}

void Losses::private_from_now() {
  records_ = RecordsAre::private_;
  silence();
}

// What a function returned, as doubles of this shape. Sizes of results on private records are not quoted.
py::array_t<double> Losses::numbers(py::object result, const char* function, const Shape& shape) const {
  if (py::hasattr(result, "detach")) result = result.attr("detach")().attr("cpu")().attr("numpy")();
  std::string found = "a " + result.get_type().attr("__name__").cast<std::string>();
  if (py::isinstance<py::array>(result)) {
    const auto array = py::reinterpret_borrow<py::array>(result);
    const Shape sizes(array.shape(), array.shape() + array.ndim());
    if (array.dtype().kind() == 'f' && array.itemsize() >= 4 && sizes == shape)
      return py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(array);
    found = "an array of " + py::str(array.dtype()).cast<std::string>() + " and shape " + text_of(sizes);
  }
  throw std::runtime_error(std::string(function) + " returned " +
                           (records_ == RecordsAre::private_ ? "something else" : found) +
                           ", where an array of float32 or float64 and shape " + text_of(shape) + " is asked for");
}

template <class Call>
void Losses::guarded(Call call) {
  failure_.clear();
  const SameRounding same;
  try {
    call();
  } catch (py::error_already_set& raised) {
    failure_ = describe(raised, module_.file(), records_);
  } catch (const std::exception& e) {
    failure_ = e.what();
  }
}

void Losses::losses(const float* w, const GivenRecords& given, double* out) {
  std::fill_n(out, given.count, std::numeric_limits<double>::quiet_NaN());
  guarded([&] {
    if (!batch_.fill(given)) return;
    Arrays arrays = batch_.arrays(w, {static_cast<py::ssize_t>(dim_)});
    {
      const auto found = numbers(module_.function("losses")(arrays.points, arrays.X, arrays.y), "losses",
                                 {static_cast<py::ssize_t>(module_.batch())});
      for (std::size_t b = 0; b < batch_.kept().size(); ++b) out[batch_.kept()[b]] = found.data()[b];
    }
    refuse_kept(arrays, "losses");
  });
}

void Losses::losses_at(const float* points, std::uint64_t many, const GivenRecords& given, double* out) {
  std::fill_n(out, many * given.count, std::numeric_limits<double>::quiet_NaN());
  guarded([&] {
    if (!batch_.fill(given)) return;
    const auto K = static_cast<py::ssize_t>(many);
    Arrays arrays = batch_.arrays(points, {K, static_cast<py::ssize_t>(dim_)});
    {
      const auto found = numbers(module_.function("losses_at")(arrays.points, arrays.X, arrays.y), "losses_at",
                                 {K, static_cast<py::ssize_t>(module_.batch())});
      for (std::uint64_t p = 0; p < many; ++p)
        for (std::size_t b = 0; b < batch_.kept().size(); ++b)
          out[p * given.count + batch_.kept()[b]] = found.data()[p * module_.batch() + b];
    }
    refuse_kept(arrays, "losses_at");
  });
}

void Losses::scores(const float* w, const GivenRecords& given, float* out) {
  const std::uint64_t outputs = this->outputs();
  guarded([&] {
    batch_.fill(given);
    Arrays arrays = batch_.arrays(w, {static_cast<py::ssize_t>(dim_)});
    {
      Shape shape{static_cast<py::ssize_t>(module_.batch())};
      if (outputs > 1) shape.push_back(static_cast<py::ssize_t>(outputs));
      const auto found = numbers(module_.function("scores")(arrays.points, arrays.X), "scores", shape);
      for (std::uint64_t k = 0; k < given.count * outputs; ++k) out[k] = static_cast<float>(found.data()[k]);
    }
    refuse_kept(arrays, "scores");
  });
}

void Losses::synthetic(std::uint64_t count, float* records, std::uint64_t stride, float* labels) {
  guarded([&] {
    if (module_.has("synthetic"))
      take_synthetic(module_.function("synthetic")(count, columns_), count, records, stride, labels);
  });
}

void Losses::take_synthetic(const py::object& made, std::uint64_t count, float* records, std::uint64_t stride,
                            float* labels) const {
  using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
  const std::string asked = "synthetic returned something else than (X, y) of shapes (" + std::to_string(count) +
                            ", " + std::to_string(columns_) + ") and (" + std::to_string(count) + ",)";
  if (!py::isinstance<py::tuple>(made) || py::len(made) != 2) throw std::runtime_error(asked);
  const auto pair = made.cast<py::tuple>();
  const auto X = Floats::ensure(pair[0]), y = Floats::ensure(pair[1]);
  const auto n = static_cast<py::ssize_t>(count), columns = static_cast<py::ssize_t>(columns_);
  if (!X || !y || X.ndim() != 2 || y.ndim() != 1 || X.shape(0) != n || X.shape(1) != columns || y.shape(0) != n)
    throw std::runtime_error(asked);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::copy_n(X.data() + i * columns_, columns_, records + i * stride);
    labels[i] = y.data()[i];
  }
}

}  // namespace dpmpi::python
