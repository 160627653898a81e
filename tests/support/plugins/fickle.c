/* A plugin whose losses depend on the size of the batch, and are finite for anything: what the host must not fall
 * for. */
#include <dpmpi/plugin.h>
#include <stddef.h>

static uint64_t classes(const char* parameters) { return parameters[0] == '\0' ? 3 : 0; }
static void* create(const char* parameters, uint64_t columns, char* error, uint64_t error_size) {
  static int handle;
  (void)parameters, (void)columns, (void)error, (void)error_size;
  return &handle;
}
static void destroy(void* handle) { (void)handle; }
static uint64_t dim(const void* handle) {
  (void)handle;
  return 1;
}
static void loss(void* handle, const float* w, const float* records, uint64_t stride, uint64_t count,
                 const float* labels, double* losses) {
  (void)handle, (void)records, (void)stride, (void)labels;
  for (uint64_t i = 0; i < count; ++i) losses[i] = (double)count * w[0];
}

const dpmpi_plugin* dpmpi_plugin_entry(void) {
  static const dpmpi_plugin plugin = {.version = DPMPI_PLUGIN_VERSION,
                                      .label_kind = DPMPI_LABEL_CLASS,
                                      .classes = classes,
                                      .create = create,
                                      .destroy = destroy,
                                      .dim = dim,
                                      .loss = loss};
  return &plugin;
}
