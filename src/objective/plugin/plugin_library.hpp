#pragma once
// A loaded shared object with a table of functions: one side of include/dpmpi/plugin.h.

#include <cstddef>
#include <string>

#include "data/records/records.hpp"
#include "dpmpi/plugin.h"

namespace dpmpi {

class PluginLibrary {
 public:
  /// Loads the object and asks it for its table. `name`: what messages call it ("plugin ./libpinball.so"). Throws
  /// ConfigError.
  PluginLibrary(const std::string& path, std::string name, const std::string& parameters);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& name() const { return name_; }
  const dpmpi_plugin* operator->() const { return &table_; }

  LabelKind label_kind() const;
  std::size_t classes(const std::string& parameters) const;  ///< 0 unless labels are classes

 private:
  const dpmpi_plugin& ask_for_table(const std::string& path, const std::string& parameters) const;
  void take(const dpmpi_plugin& table);

  std::string name_;
  void* object_;
  dpmpi_plugin table_{};  ///< what a plugin of version 1 does not have is null here
};

}  // namespace dpmpi
