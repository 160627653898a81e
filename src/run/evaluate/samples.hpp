#pragma once
// Records that a trained generator makes. They follow from the model and public numbers alone, so they cost
// nothing.

#include <cstdint>
#include <span>
#include <string>

#include "core/files/image.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// The 64 records of samples.png, or as many more as make equal numbers of each class: the same latents at every
/// point w. Local.
GreyImage sample_sheet(Objective& generator, std::span<const float> w);

/// Writes records 0 .. `count` - 1 of `seed` to `path`: CSV with the columns x1, x2, ..., NumPy float32 (count x
/// width), or a PNG sheet of pictures. With classes CSV has the class in front, column label; in the other two
/// record i is of class i mod K. A number of a record is as the model sees it. Fewer records of a seed are the
/// first of more. Local. Throws DataError if the file cannot be written, or the generator makes what is no number.
void write_samples(Objective& generator, std::span<const float> w, std::uint64_t seed, std::uint64_t count,
                   const std::string& path);

}  // namespace dpmpi
