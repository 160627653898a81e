#pragma once
// What a run looks at and reads before it looks for the noise that it needs: that takes long, and depends on none
// of the records. Three steps, of which `dpmpi check` takes all, whatever the others found.

#include "run/train/problems.hpp"
#include "run/train/training.hpp"

namespace dpmpi {

/// Throws ConfigError or DataError, on all ranks, if no new run can be made in run.dir, or would be stopped by a
/// stop file that is there. Collective.
void refuse_place(const Communicator& comm, const RunConfig& config);

/// Size and shape of the data, the objective, and a draft of the plan: all of it public. Throws PrivacyError at
/// once if a private file is given as a public one. Collective.
void look_at_inputs(Training& run, Problems& problems);

/// The records, public ones first. With problems before, to see what is wrong with them too. Collective.
void read_inputs(Training& run, Problems& problems);

/// All records once more, by the files' rules of now, into the blocks in which they were. Collective; throws what
/// read_inputs() notes.
void read_records_again(Training& run);

}  // namespace dpmpi
