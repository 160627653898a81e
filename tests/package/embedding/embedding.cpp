// Plans, trains and predicts by the installed headers and library alone. Usage: embedding CONFIG RUN
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <dpmpi/dpmpi.hpp>

namespace dp = dpmpi::library;

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  std::printf("%s: %s\n", condition ? "ok" : "FAILED", what);
  failures += condition ? 0 : 1;
}

int refusal(const std::string& config, const dp::Settings& settings) {
  try {
    dp::train(config, settings);
  } catch (const dp::Error& e) {
    std::printf("refused as it should be: %s\n", e.what());
    return e.exit_code();
  }
  return 0;
}

int checks(const std::string& config, const std::string& run) {
  const dp::Planned planned = dp::plan(config, {"privacy.epsilon=2"});
  expect(planned.promise.epsilon > 1.9 && planned.promise.epsilon <= 2, "the plan keeps its epsilon");
  expect(planned.promise.adjacency == "add_remove" && planned.steps > 0, "the plan says what it is");
  expect(planned.json.find("\"events\"") != std::string::npos, "and all of it as JSON");

  const dp::Trained trained = dp::train(config, {"privacy.epsilon=2", "run.dir=" + run});
  expect(trained.finished && trained.directory == run, "the run is finished");
  expect(trained.metrics.at("eval.accuracy") > 0.5, "and has learnt something");

  std::ifstream ledger(run + "/ledger.jsonl");
  const std::string events{std::istreambuf_iterator<char>(ledger), {}};
  const dp::Guarantee spent = dp::account(events, planned.promise.delta);
  expect(std::fabs(spent.epsilon - planned.promise.epsilon) < 1e-9, "the ledger costs what was planned");

  const std::vector<float> rows(3 * 40, 0.5f);
  const dp::Predicted predicted = dp::predict(run, rows, 40);
  expect(predicted.outputs == 1 && predicted.scores.size() == 3, "three rows have three scores");
  expect(std::isfinite(predicted.scores[0]) && predicted.scores[0] == predicted.scores[2],
         "equal rows, equal scores");

  expect(refusal(config, {"method.bacth=3", "run.dir=" + run + "-2"}) == 2, "an unknown key is a config error");
  expect(refusal(config, {"run.dir=" + run}) == 2, "a run that is finished is not replaced");
  expect(refusal(config, {}) == 2, "run.dir has to be said");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return checks(argv[1], argv[2]);
  } catch (const dp::Error& e) {
    std::printf("%s\n", e.what());
    return e.exit_code();
  }
}
