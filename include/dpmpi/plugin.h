#ifndef DPMPI_PLUGIN_H
#define DPMPI_PLUGIN_H
/*
 * A loss from a shared object, for zeroth-order methods: dpmpi asks for losses of single records at points of its
 * choice.
 *
 *   [objective]
 *   name = plugin
 *   library = ./libpinball.so
 *   parameters = quantile=0.9
 *
 * The path has a slash; a run knows the file by its SHA-256.
 *
 * The object exports one function, dpmpi_plugin_entry. examples/plugin/pinball.c is a complete one. Build it with
 *   cc -shared -fPIC -O2 -I include pinball.c -o libpinball.so
 *
 * What the privacy guarantee asks of a plugin: a record's loss depends on (w, record, label, parameters) only. It
 * must not depend on other records, on earlier calls, on time or on the machine, and it must write to no file.
 * dpmpi cannot check this. Functions must not throw, exit, or call MPI.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPMPI_PLUGIN_VERSION 1u

enum dpmpi_label_kind {
  DPMPI_LABEL_REAL = 0, /* any finite number */
  DPMPI_LABEL_SIGN = 1, /* -1 or +1 */
  DPMPI_LABEL_CLASS = 2 /* 0 .. classes - 1 */
};

/* All fields are required unless they may be NULL. */
typedef struct dpmpi_plugin {
  uint32_t version;    /* DPMPI_PLUGIN_VERSION of the header that the plugin was compiled with */
  uint32_t label_kind; /* enum dpmpi_label_kind */
  /* 1: loss() gives a record the same bits whatever other records it gets in the same call; 0: it gets one at a
   * time. */
  uint32_t row_invariant;

  /* Number of classes under `parameters`. May be NULL unless label_kind is DPMPI_LABEL_CLASS. */
  uint64_t (*classes)(const char* parameters);

  /* A handle for records of `columns` columns (the features, then the constant column if data.bias is not 0), or
     NULL and a message in `error` (at most error_size bytes with the final 0). */
  void* (*create)(const char* parameters, uint64_t columns, char* error, uint64_t error_size);
  void (*destroy)(void* handle);

  /* Number of model parameters. */
  uint64_t (*dim)(const void* handle);

  /* losses[i] = loss at w (dim values) of record i (records[i * stride], .., columns values) with labels[i], for i
     < count. NaN or infinity: the record does not count. */
  void (*loss)(void* handle, const float* w, const float* records, uint64_t stride, uint64_t count,
               const float* labels, double* losses);
} dpmpi_plugin;

/* A structure with static lifetime. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const dpmpi_plugin*
dpmpi_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif
