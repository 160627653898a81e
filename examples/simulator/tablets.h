#ifndef TABLETS_H
#define TABLETS_H
/* What a patient's blood holds after days of tablets, step by step: no formula gives it, and it has no gradient.

   The patient takes a tablet at every interval, but skips it while the blood holds more than a threshold, because
   of side effects. The gut passes on a share of what it holds, and no more than it can in an hour. The blood loses
   a share, less in heavy patients. */
#include <math.h>

enum { tablets_columns = 4, tablets_dim = 6 };

/* x: dose in mg, hours between tablets, weight over 70 kg, hour of the measurement.
   w: the logarithms of six positive numbers over public guesses of them. */
static double tablets_level(const float* w, const float* x) {
  static const double guess[tablets_dim] = {0.5, 20, 0.1, 0.75, 60, 1};
  double value[tablets_dim];
  for (int j = 0; j < tablets_dim; ++j) value[j] = guess[j] * exp(w[j]);
  const double share_an_hour = value[0], most_an_hour = value[1];
  const double lost_an_hour = value[2] / pow(x[2], value[3]);
  const double side_effects_from = value[4], delay = value[5];

  const double hours = 0.125;
  double gut = 0, blood = 0, next = 0;
  for (double now = 0; now < x[3]; now += hours) {
    if (now >= next) {
      if (blood < side_effects_from) gut += x[0];
      next += x[1];
    }
    const double passed = now < delay ? 0 : fmin(fmin(share_an_hour * gut, most_an_hour) * hours, gut);
    gut -= passed;
    blood += passed - fmin(lost_an_hour * hours, 1) * blood;
  }
  return blood;
}
#endif
