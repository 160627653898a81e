#pragma once

namespace dpmpi {

/// e^x for |x| <= 700 with + - * / only: the same bits on every machine.
double portable_exp(double x);

}  // namespace dpmpi
