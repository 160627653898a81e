#pragma once
// Short runs of every registered method on a table whose columns are prepared first.

#include <cmath>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "run/short_runs.hpp"

namespace dpmpi::test {

struct PreparedRun {
  std::string method;
  Settings settings = {};
};
inline void PrintTo(const PreparedRun& run, std::ostream* out) { *out << run.method; }

/// prepared.ini for prepared.csv, of which nobody says how large its numbers are. `place`: what stands before the
/// names of its files: nothing, or the folder, where runs are gone on with from elsewhere.
inline void write_prepared_data(const std::string& folder, const std::string& place = "") {
  std::ofstream table(folder + "/prepared.csv");
  table << "size,const,gap,kind,y\n";
  for (int i = 0; i < 611; ++i) {
    const double x = std::sin(0.7 * i);
    table << fmt::format("{},3,{},{},{}\n", 1e6 + 2e5 * x, i % 3 == 0 ? "NA" : fmt::format("{}", x),
                         i % 2 == 0 ? "a" : "b", x > 0 ? 1 : -1);
  }
  std::ofstream(folder + "/columns.txt")
      << "size number\nconst number\ngap number\nkind category words=a,b\ny label\n";
  std::ofstream(folder + "/prepared.ini") << fmt::format(
      "[data]\nblocks = 5\ntrain = {0}prepared.csv\ncolumns = {0}columns.txt\nprepare = private\n"
      "[run]\ncheckpoint_every = 2\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\nseed = 3\n"
      "[report]\nprogress = none\n",
      place);
}

/// All that may be prepared: every method but those for records that are no rows of such a table, and the ways of
/// some that keep more between steps, or hide their iterates.
inline std::vector<PreparedRun> prepared_runs() {
  std::vector<PreparedRun> all;
  const auto add = [&](const std::string& method, const Settings& more) {
    const std::string objective = objective_of(method);
    Settings settings = options_of(method, objective);
    settings.insert(settings.end(), {"method.name=" + method, "objective.name=" + objective});
    if (objective == "auc") settings.emplace_back("objective.prior=0.5");
    settings.insert(settings.end(), more.begin(), more.end());
    all.push_back({method, settings});
  };
  for (const std::string& method : product_methods())
    if (objective_of(method) != "mean") add(method, {});
  for (const char* method : {"private-diff", "dp-sgda"})
    add(method, {"method.prior=private", "method.average=0.9"});
  add("zo-o2nc", {"method.strategy=sqrt_toeplitz", "method.adaptive_clip=true"});
  add("clipped-gd", {"method.clip_rule=fixed", "method.clip=1", "method.clip_quantile=0.5"});
  all.push_back(
      {"zo-hidden",
       {"method.name=zo-hidden", "method.directions=3", "method.steps=60", "method.window=40", "method.share=0.5",
        "method.ball=0.3", "method.feature_bound=1", "method.batch=60", "privacy.noise_multiplier=40",
        "privacy.trust=cluster", "privacy.adjacency=replace_one", "method.sampling=wor"}});
  return all;
}

}  // namespace dpmpi::test
