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
 * dpmpi tries this on made-up records before a run, and cannot prove it. Functions must not throw, exit, or call
 * MPI.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPMPI_PLUGIN_VERSION 2u

enum dpmpi_label_kind {
  DPMPI_LABEL_REAL = 0, /* any finite number */
  DPMPI_LABEL_SIGN = 1, /* -1 or +1 */
  DPMPI_LABEL_CLASS = 2 /* 0 .. classes - 1 */
};

/* All fields are required unless they may be NULL. */
typedef struct dpmpi_plugin {
  uint32_t version;    /* DPMPI_PLUGIN_VERSION of the header that the plugin was compiled with: 1 or 2 */
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

  /* ---- since version 2; each may be NULL ---- */

  /* Most records that a call gets, 1 .. 4096; NULL: 128. */
  uint64_t (*rows)(const void* handle);

  /* losses[p * count + i] = loss at point p (points[p * dim], .., dim values) of record i: the losses of loss(), at
   * `many` points in one call, for methods that ask for one record at many points (zo-o2nc). NULL: loss() is called
   * at one point after the other. */
  void (*losses_at)(void* handle, const float* points, uint64_t many, const float* records, uint64_t stride,
                    uint64_t count, const float* labels, double* losses);

  /* Scores of a record: 1, or the number of classes; NULL or 0: there are none. scores[i * outputs + k] = score k
   * at w of record i: a prediction (real labels), above 0 for +1 (signs), largest for the class that is meant. */
  uint64_t (*outputs)(const void* handle);
  void (*scores)(void* handle, const float* w, const float* records, uint64_t stride, uint64_t count,
                 float* scores);

  /* Makes records and labels up that could be real ones, to try the plugin on: the same ones in every call, and
   * most with a finite loss. They come as normal numbers, which stay where this writes nothing. */
  void (*synthetic)(void* handle, uint64_t count, float* records, uint64_t stride, float* labels);

  /* After any call above: NULL, or why it failed. The run ends with these words, which must quote nothing of a
   * record once private_from_now() was called. */
  const char* (*failure)(void* handle);
  void (*private_from_now)(void* handle);
} dpmpi_plugin;

/* A structure with static lifetime. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const dpmpi_plugin*
dpmpi_plugin_entry(void);

/* Exported in its place by a plugin whose structure depends on `parameters`: NULL and a message if they make no
 * sense. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const dpmpi_plugin*
dpmpi_plugin_for(const char* parameters, char* error, uint64_t error_size);

#ifdef __cplusplus
}
#endif
#endif
