#pragma once
// The folder of a run, and who may work in it.

#include <string>

#include "run/directory/lock.hpp"

namespace dpmpi {

struct RunDirectory {
  std::string path;
  RunLock lock;
};

/// Throws DataError if the run in `path` was finished and its certificate is gone. Local.
void refuse_lost_certificate(const std::string& path);

/// Throws ConfigError if no folder can be made of `wanted` (run.dir), or, if that is empty, below runs/. Local.
void refuse_impossible(const std::string& wanted);

/// Throws ConfigError if `wanted` (run.dir) holds a run that is finished or to be resumed. Local.
void refuse_taken(const std::string& wanted);

/// A folder that no other run uses: creates `wanted`, or, if that is empty, runs/<stem> or the first free of
/// runs/<stem>-2, -3, ... What a run left there that was killed before its first step (a ledger without an event,
/// no checkpoint: nothing was released) is removed. Throws ConfigError if `wanted` holds a run or is in use.
RunDirectory make_run_directory(const std::string& wanted, const std::string& stem);

/// The folder of a run to go on with. Throws ConfigError if it is in use or holds nothing to go on with.
RunDirectory open_run_directory(const std::string& path);

/// Throws ConfigError if the run in `path` is finished: there is nothing to go on with. First ends what a kill
/// between the certificate and the end left undone: wipes the key (unless it is to be kept) and removes the
/// checkpoints.
void refuse_finished(const std::string& path, bool keep_key);

/// Gives all files of a finished run the time at which its plan was written: when the others were could tell what a
/// run hides of its times. Local; leaves alone what it may not change.
void level_times(const std::string& directory);

}  // namespace dpmpi
