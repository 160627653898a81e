/* Leaves a mark when it is loaded, as code would that came with a directory; else the example's quantile
 * regression. The mark is the file that MARKING_PLUGIN names. */
#include <stdio.h>
#include <stdlib.h>

#include "../../../examples/plugin/pinball.c"

__attribute__((constructor)) static void leave_mark(void) {
  const char* path = getenv("MARKING_PLUGIN");
  FILE* mark = path == NULL ? NULL : fopen(path, "w");
  if (mark != NULL) fclose(mark);
}
