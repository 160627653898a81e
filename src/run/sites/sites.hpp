#pragma once
// A run whose records are at sites that cannot be one job: hospitals, say, that run a job of their own for every
// step and hand files over (docs/guide/sites.md). The coordinator's job has the run's curator, key, ledger and
// directory, and no records; a site's job has its own records, and goes on from what all steps before have
// released.
//
// The cut is where a step's sum is reduced (privacy/curator/job_sums.hpp). A site makes a Training without a run
// directory, and a Curator with the keys of its own blocks alone; its part is masked, and the step ends. The
// coordinator makes a Training without records; the parts join its noise, and the step goes on as in one job.
// TrainOptions::job tells both what they cannot see. Between two rounds the run is its checkpoint.
//
//   site.cpp          join, and a step of a site
//   coordinator.cpp   open, combine and repeat a round
//   exchanged         the files between them
//   masks             what hides a site's part from the coordinator
//   secret_file       the keys of both
//   line_log          what each of them has done

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "run/config/config.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {

/// What cannot be done by sites, all at once. Throws ConfigError. Local.
void check_for_sites(const RunConfig& config);
/// The same of what the config comes to: each step has to be one sum. Throws ConfigError. Local.
void check_for_sites(const Plan& plan, const std::string& method);

/// Makes the key of a site and the file by which it joins. `site`: which of data.shards is its own, from 1. Local.
void join_run(const RunConfig& config, std::int64_t site, const std::string& key, const std::string& output);

struct SiteStep {
  std::string key, round, output;  ///< files
};
/// A site's part of a round. What it has handed over it writes down in KEY.rounds, and it hands over nothing else
/// for the same file. Collective.
void step_at_site(const Communicator& comm, const RunConfig& config, const SiteStep& files);

/// Begins a run of the sites that have joined: writes RUN/sites and the file of the first round there. Local.
void open_run_of_sites(const RunConfig& config, const std::vector<std::string>& joined);
/// Adds the parts of all present sites, with the run's noise in the sum, takes the step, and writes the next
/// round's file or, at the end, model and certificate. Local.
void combine_round(const std::string& run, const std::vector<std::string>& parts, bool quiet);
/// Writes another file of the same round, without some sites (from 1): nothing that was handed over for the one
/// before serves for it. Refused once the parts of the round were combined. Local.
void repeat_round(const std::string& run, const std::vector<std::int64_t>& without);

}  // namespace dpmpi
