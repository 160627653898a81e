#pragma once
// A small search whose models are trained on a second private set.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/synthetic/generate.hpp"
#include "run/config/config.hpp"

namespace dpmpi::test {

struct TuningFolder {
  std::string path;
  std::string config() const { return path + "/search.ini"; }
  std::string trainer() const { return path + "/trainer.ini"; }

  /// 300 records to score, 240 to train on; four steps of three models each, of four steps of dp-sgd.
  void make() const {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
    GenerateOptions options;
    options.records = 300, options.eval_records = 240, options.features = 4;
    options.output = path + "/search.csv";
    generate(options);
    write_trainer();
    std::ofstream(config()) << "[run]\ncheckpoint_every = 2\n[data]\ntrain = search.csv\nheader = yes\nblocks = 6\n"
                               "[objective]\nname = tune_private\ntrainer = trainer.ini\n"
                               "search = method.rate:0.1:10,method.clip:0.1:2\n"
                               "[method]\nname = gibo\nbatch = fixed\nb = 3\nsteps = 4\nclip = 0.5\neta = 0.5\n"
                               "step = adagrad\nbox_lo = -2\nbox_hi = 2\n"
                               "[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\naccountant = rdp\n"
                               "[report]\nprogress = none\n";
  }
  void write_trainer(const std::string& privacy = "noise_multiplier = 2\ntrust = cluster\n") const {
    std::ofstream(trainer())
        << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 2\n[objective]\nname = logistic\n"
           "[method]\nname = dp-sgd\nbatch = 60\nsteps = 4\n[privacy]\n"
           "delta = 1e-4\naccountant = rdp\n"
        << privacy;
  }
};

}  // namespace dpmpi::test
