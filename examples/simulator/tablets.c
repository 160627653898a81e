/* A loss that is a program: a simulator (tablets.h) as a dpmpi plugin. The loss of a patient is the distance
   between the measured and the simulated level on a scale of logarithms.

   A tablet is taken or skipped. So along the threshold of side effects the loss is flat, and jumps where a patient
   just skips one more: no gradient tells where to go. */
#include "tablets.h"

#include <dpmpi/plugin.h>
#include <stdio.h>

static void* create(const char* parameters, uint64_t columns, char* error, uint64_t error_size) {
  static int nothing;
  if (*parameters == '\0' && columns == tablets_columns) return &nothing;
  snprintf(error, error_size, "expected no parameters and %d columns with data.bias = 0, not '%s' and %llu columns",
           tablets_columns, parameters, (unsigned long long)columns);
  return NULL;
}

static void destroy(void* handle) { (void)handle; }

static uint64_t dim(const void* handle) {
  (void)handle;
  return tablets_dim;
}

static void loss(void* handle, const float* w, const float* records, uint64_t stride, uint64_t count,
                 const float* labels, double* losses) {
  (void)handle;
  for (uint64_t i = 0; i < count; ++i)
    losses[i] = fabs(log1p(labels[i]) - log1p(tablets_level(w, records + i * stride)));
}

const dpmpi_plugin* dpmpi_plugin_entry(void) {
  static const dpmpi_plugin plugin = {
      .version = DPMPI_PLUGIN_VERSION,
      .label_kind = DPMPI_LABEL_REAL,
      .row_invariant = 1,
      .create = create,
      .destroy = destroy,
      .dim = dim,
      .loss = loss,
  };
  return &plugin;
}
