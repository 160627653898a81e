#include "objective/plugin/plugin_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/console/printable.hpp"
#include "core/errors.hpp"

namespace dpmpi {

PluginLibrary::PluginLibrary(const std::string& path, std::string name, const std::string& parameters)
    : name_(std::move(name)), object_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (object_ == nullptr) throw ConfigError(fmt::format("cannot load the plugin {}: {}", path, ::dlerror()));
  try {
    take(ask_for_table(path, parameters));
  } catch (...) {
    ::dlclose(object_);
    throw;
  }
}

PluginLibrary::~PluginLibrary() { ::dlclose(object_); }

const dpmpi_plugin& PluginLibrary::ask_for_table(const std::string& path, const std::string& parameters) const {
  if (void* const by_parameters = ::dlsym(object_, "dpmpi_plugin_for")) {
    std::array<char, 1024> error{};
    const auto* const table = reinterpret_cast<decltype(&dpmpi_plugin_for)>(by_parameters)(
        parameters.c_str(), error.data(), error.size());
    error.back() = '\0';
    if (table == nullptr) throw ConfigError(fmt::format("{}: {}", name_, printable(error.data())));
    return *table;
  }
  void* const entry = ::dlsym(object_, "dpmpi_plugin_entry");
  if (entry == nullptr) throw ConfigError(fmt::format("{} is no dpmpi plugin: it lacks dpmpi_plugin_entry", path));
  const auto* const table = reinterpret_cast<decltype(&dpmpi_plugin_entry)>(entry)();
  if (table == nullptr) throw ConfigError(fmt::format("{}: dpmpi_plugin_entry returned nothing", name_));
  return *table;
}

void PluginLibrary::take(const dpmpi_plugin& table) {
  if (table.version != 1 && table.version != DPMPI_PLUGIN_VERSION)
    throw ConfigError(fmt::format("{} has interface version {}, this dpmpi needs 1 or {}: compile it again", name_,
                                  table.version, DPMPI_PLUGIN_VERSION));
  std::memcpy(&table_, &table, table.version == 1 ? offsetof(dpmpi_plugin, rows) : sizeof table);
  const bool complete = table_.create != nullptr && table_.destroy != nullptr && table_.dim != nullptr &&
                        table_.loss != nullptr && table_.label_kind <= DPMPI_LABEL_CLASS &&
                        (table_.label_kind != DPMPI_LABEL_CLASS || table_.classes != nullptr) &&
                        (table_.outputs != nullptr) == (table_.scores != nullptr);
  if (!complete) throw ConfigError(fmt::format("{} leaves required fields of dpmpi_plugin empty", name_));
}

LabelKind PluginLibrary::label_kind() const {
  if (table_.label_kind == DPMPI_LABEL_CLASS) return LabelKind::class_;
  return table_.label_kind == DPMPI_LABEL_SIGN ? LabelKind::sign : LabelKind::real;
}

std::size_t PluginLibrary::classes(const std::string& parameters) const {
  if (label_kind() != LabelKind::class_) return 0;
  const std::uint64_t classes = table_.classes(parameters.c_str());
  if (classes < 2) throw ConfigError(fmt::format("{}: {} classes are no task", name_, classes));
  return classes;
}

}  // namespace dpmpi
