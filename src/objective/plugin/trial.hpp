#pragma once
// What the guarantee asks of a plugin, tried on made-up records: a record's loss depends on parameters and record
// alone. A trial finds what happens often; it proves nothing.

#include <cstddef>

#include "objective/plugin/plugin_library.hpp"

namespace dpmpi {

/// Sizes of what a plugin is called with.
struct PluginShape {
  std::size_t columns = 0, stride = 0;  ///< of a record
  std::size_t rows = 0;                 ///< of a call at most
  std::size_t classes = 0;              ///< of labels; 0: they are none
};

/// Asks for the losses of synthetic records: twice the same, after those at another point, in another order, and of
/// some records alone. Throws PrivacyError with the record's place where two of them differ in a bit, ConfigError
/// where the plugin fails or half of its own synthetic records have no finite loss. Returns whether losses_at()
/// gives a point the same bits beside other points; true where there is no such function. Local.
bool try_plugin(const PluginLibrary& plugin, void* handle, const PluginShape& shape);

/// Why the last call failed, or null.
inline const char* plugin_failure(const PluginLibrary& plugin, void* handle) {
  return plugin->failure ? plugin->failure(handle) : nullptr;
}

}  // namespace dpmpi
