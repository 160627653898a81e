#include "objective/python/host/loss_module.hpp"

#include <stdexcept>
#include <utility>

#include "objective/python/host/interpreter.hpp"

namespace dpmpi::python {
namespace {

namespace py = pybind11;

py::module_ empty_module(const std::string& file) {
  static int number = 0;
  const std::string name = "dpmpi_losses_" + std::to_string(++number);
  py::object made = py::module_::import("types").attr("ModuleType")(name);
  made.attr("__file__") = file;
  py::module_::import("sys").attr("modules")[py::str(name)] = made;  // dataclasses look there
  return py::reinterpret_steal<py::module_>(made.release());
}

}  // namespace

LossModule::LossModule(std::string file, const std::string& parameters, const std::string& source)
    : file_(std::move(file)), module_(empty_module(file_)), torch_(py::none()) {
  const SameRounding same;
  module_.attr("parameters") = parameters;
  const py::module_ builtins = py::module_::import("builtins");
  builtins.attr("exec")(builtins.attr("compile")(source, file_, "exec"), module_.attr("__dict__"));
  const py::dict loaded = py::module_::import("sys").attr("modules");
  if (loaded.contains("torch") && module_.attr("__dict__").contains("torch") &&
      py::object(module_.attr("torch")).is(py::object(loaded["torch"])))
    torch_ = loaded["torch"];
  take_labels();
  take_functions();
}

template <class T>
T LossModule::attribute(const char* name, T otherwise, const char* allowed) const {
  if (!py::hasattr(module_, name)) return otherwise;
  try {
    return module_.attr(name).cast<T>();
  } catch (const py::cast_error&) {
    throw std::runtime_error(std::string(name) + " = " + py::repr(module_.attr(name)).cast<std::string>() +
                             ", allowed: " + allowed);
  }
}

void LossModule::take_labels() {
  const auto labels = attribute<std::string>("labels", "real", R"("real", "sign" or "class")");
  if (labels == "class")
    label_kind_ = DPMPI_LABEL_CLASS;
  else if (labels == "sign")
    label_kind_ = DPMPI_LABEL_SIGN;
  else if (labels != "real")
    throw std::runtime_error("labels = \"" + labels + R"(", allowed: "real", "sign" or "class")");
  classes_ = attribute<std::uint64_t>("classes", 0, "a whole number of 2 or more");
  if ((label_kind_ == DPMPI_LABEL_CLASS) != (classes_ >= 2))
    throw std::runtime_error("labels = \"" + labels + "\" with classes = " + std::to_string(classes_) +
                             R"(, allowed: two classes or more with "class", none with others)");
  batch_ = attribute<std::uint64_t>("batch", 32, "a whole number from 1 to 4096");
  if (batch_ < 1 || batch_ > 4096)
    throw std::runtime_error("batch = " + std::to_string(batch_) + ", allowed: a whole number from 1 to 4096");
}

void LossModule::take_functions() {
  for (const char* const name : {"dim", "losses", "losses_at", "scores", "synthetic"}) {
    if (!py::hasattr(module_, name)) continue;
    const py::object found = module_.attr(name);
    if (PyCallable_Check(found.ptr()) == 0) throw std::runtime_error(std::string(name) + " is no function");
    functions_.emplace(name, found);
  }
  for (const char* const needed : {"dim", "losses"})
    if (!has(needed))
      throw std::runtime_error(std::string("it has no function ") + needed +
                               ", which every module of losses needs");
}

}  // namespace dpmpi::python
