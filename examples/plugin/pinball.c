/* Quantile regression as a dpmpi plugin. With residual r = label - <w, record> and quantile q the pinball loss is q
   r for r >= 0 and (q - 1) r below: its minimiser is the q-quantile of the labels given the record (Koenker and
   Bassett, 1978). */
#include <dpmpi/plugin.h>
#include <stdio.h>
#include <stdlib.h>

struct pinball {
  uint64_t columns;
  double quantile;
};

static void* create(const char* parameters, uint64_t columns, char* error, uint64_t error_size) {
  double quantile = 0.5;
  char rest;
  if (*parameters != '\0' &&
      (sscanf(parameters, "quantile=%lf%c", &quantile, &rest) != 1 || !(quantile > 0 && quantile < 1))) {
    snprintf(error, error_size, "expected quantile=Q with Q in (0, 1), not '%s'", parameters);
    return NULL;
  }
  struct pinball* self = malloc(sizeof *self);
  if (self == NULL) {
    snprintf(error, error_size, "out of memory");
    return NULL;
  }
  self->columns = columns;
  self->quantile = quantile;
  return self;
}

static uint64_t dim(const void* handle) { return ((const struct pinball*)handle)->columns; }

static void loss(void* handle, const float* w, const float* records, uint64_t stride, uint64_t count,
                 const float* labels, double* losses) {
  const struct pinball* self = handle;
  for (uint64_t i = 0; i < count; ++i) {
    const float* x = records + i * stride;
    double residual = labels[i];
    for (uint64_t j = 0; j < self->columns; ++j) residual -= (double)w[j] * x[j];
    losses[i] = (residual < 0 ? self->quantile - 1 : self->quantile) * residual;
  }
}

const dpmpi_plugin* dpmpi_plugin_entry(void) {
  static const dpmpi_plugin plugin = {
      .version = DPMPI_PLUGIN_VERSION,
      .label_kind = DPMPI_LABEL_REAL,
      .row_invariant = 1,
      .create = create,
      .destroy = free,
      .dim = dim,
      .loss = loss,
  };
  return &plugin;
}
