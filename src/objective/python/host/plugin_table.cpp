// The interpreter as a plugin (include/dpmpi/plugin.h): dpmpi hands over what it hands over to any library, and
// nothing else. An object of its own (libdpmpi_python.so), which is loaded for runs whose losses are a module.

#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "objective/python/host/interpreter.hpp"
#include "objective/python/host/losses.hpp"

namespace dpmpi::python {
namespace {

namespace py = pybind11;

struct Known {
  std::unique_ptr<LossModule> module;
  dpmpi_plugin table{};
};

/// By `parameters`. The interpreter outlives this object, so they are never taken down.
std::map<std::string, Known>& known() {
  static auto& modules = *new std::map<std::string, Known>;
  return modules;
}

/// The first line is the file, the second what the config has as objective.parameters, the rest the module's text.
std::unique_ptr<LossModule> run_module(const std::string& parameters) {
  const std::size_t first = parameters.find('\n'), second = parameters.find('\n', first + 1);
  if (first == parameters.npos || second == parameters.npos) throw std::runtime_error("not called by dpmpi");
  const std::string file = parameters.substr(0, first);
  start_interpreter();
  try {
    return std::make_unique<LossModule>(file, parameters.substr(first + 1, second - first - 1),
                                        parameters.substr(second + 1));
  } catch (py::error_already_set& raised) {
    throw std::runtime_error(describe(raised, file, RecordsAre::made_up));
  }
}

Losses& losses_of(void* handle) { return *static_cast<Losses*>(handle); }
const Losses& losses_of(const void* handle) { return *static_cast<const Losses*>(handle); }

std::uint64_t classes(const char* parameters) { return known().at(parameters).module->classes(); }

void* create(const char* parameters, std::uint64_t columns, char* error, std::uint64_t error_size) {
  const LossModule& module = *known().at(parameters).module;
  try {
    return new Losses(module, columns);
  } catch (py::error_already_set& raised) {
    std::snprintf(error, error_size, "%s", describe(raised, module.file(), RecordsAre::made_up).c_str());
  } catch (const std::exception& e) {
    std::snprintf(error, error_size, "%s", e.what());
  }
  return nullptr;
}

void destroy(void* handle) { delete &losses_of(handle); }
std::uint64_t dim(const void* handle) { return losses_of(handle).dim(); }
std::uint64_t rows(const void* handle) { return losses_of(handle).module().batch(); }
std::uint64_t outputs(const void* handle) { return losses_of(handle).outputs(); }
const char* failure(void* handle) { return losses_of(handle).failure(); }
void private_from_now(void* handle) { losses_of(handle).private_from_now(); }

void loss(void* handle, const float* w, const float* records, std::uint64_t stride, std::uint64_t count,
          const float* labels, double* out) {
  losses_of(handle).losses(w, {records, stride, count, labels}, out);
}

void losses_at(void* handle, const float* points, std::uint64_t many, const float* records, std::uint64_t stride,
               std::uint64_t count, const float* labels, double* out) {
  losses_of(handle).losses_at(points, many, {records, stride, count, labels}, out);
}

void scores(void* handle, const float* w, const float* records, std::uint64_t stride, std::uint64_t count,
            float* out) {
  losses_of(handle).scores(w, {records, stride, count, nullptr}, out);
}

void synthetic(void* handle, std::uint64_t count, float* records, std::uint64_t stride, float* labels) {
  losses_of(handle).synthetic(count, records, stride, labels);
}

dpmpi_plugin table_of(const LossModule& module) {
  return {.version = DPMPI_PLUGIN_VERSION,
          .label_kind = static_cast<std::uint32_t>(module.label_kind()),
          .row_invariant = 1,
          .classes = classes,
          .create = create,
          .destroy = destroy,
          .dim = dim,
          .loss = loss,
          .rows = rows,
          .losses_at = module.has("losses_at") ? losses_at : nullptr,
          .outputs = outputs,
          .scores = scores,
          .synthetic = synthetic,
          .failure = failure,
          .private_from_now = private_from_now};
}

}  // namespace
}  // namespace dpmpi::python

const dpmpi_plugin* dpmpi_plugin_for(const char* parameters, char* error, std::uint64_t error_size) {
  using namespace dpmpi::python;
  try {
    const auto at = known().find(parameters);
    if (at != known().end()) return &at->second.table;
    auto module = run_module(parameters);
    Known& entry = known()[parameters];
    entry.module = std::move(module);
    entry.table = table_of(*entry.module);
    return &entry.table;
  } catch (const std::exception& e) {
    std::snprintf(error, error_size, "%s", e.what());
    return nullptr;
  }
}
