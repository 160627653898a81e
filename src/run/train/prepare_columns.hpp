#pragma once
// Training data whose columns are prepared (data.prepare = private): read twice, once as the columns stand and once
// by what was found out about them.

#include "run/train/training.hpp"

namespace dpmpi {

/// Lets the files be read as they stand. Local.
void read_as_they_stand(const RunConfig& config, DataFiles& files);

/// Releases what is to be found out, or takes what a resumed run knows of it, writes preparation.json and reads all
/// records again. Nothing if the config prepares nothing. Collective; errors as for load().
void prepare_columns(Training& run);

}  // namespace dpmpi
