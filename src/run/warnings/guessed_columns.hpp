#pragma once
// Columns of which data.prepare found nothing but noise.

#include <optional>

#include "run/preparation/preparation.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// Of what was released: post-processing. Local.
std::optional<Warning> guessed_columns(const Preparation& preparation);

}  // namespace dpmpi
