/* Made-up patients for tablets.c, as a table:  patients COUNT SEED > FILE.csv */
#include "tablets.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The generator of Vigna's splitmix64: uniform in (0, 1). */
static double uniform(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t* state) {
  const double radius = sqrt(-2 * log(uniform(state)));
  return radius * cos(6.283185307179586 * uniform(state));
}

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "patients COUNT SEED > FILE.csv\n");
    return 2;
  }
  /* What is true, and what training has to find: not the guesses. */
  static const float truth[tablets_dim] = {0.7f, -0.5f, 0.4f, 0.3f, -0.6f, 0.5f};
  static const double doses[] = {20, 40, 80, 120}, intervals[] = {6, 8, 12, 24};
  uint64_t state = strtoull(words[2], NULL, 10);
  puts("level,dose,interval,weight,hour");
  for (long i = 0; i < atol(words[1]); ++i) {
    const float x[tablets_columns] = {(float)doses[(int)(4 * uniform(&state))],
                                      (float)intervals[(int)(4 * uniform(&state))],
                                      (float)(0.6 + 1.2 * uniform(&state)), (float)(1 + 71 * uniform(&state))};
    printf("%.4f,%g,%g,%.3f,%.2f\n", tablets_level(truth, x) * exp(0.15 * normal(&state)), x[0], x[1], x[2], x[3]);
  }
  return 0;
}
