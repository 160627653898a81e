/* A plugin of a version that no dpmpi has. */
#include <dpmpi/plugin.h>

const dpmpi_plugin* dpmpi_plugin_entry(void) {
  static const dpmpi_plugin plugin = {.version = 4711};
  return &plugin;
}
