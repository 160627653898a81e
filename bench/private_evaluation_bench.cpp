// The tables of docs/results/private_evaluation.md: how wide the intervals of an evaluation by noisy counts are,
// and how often they hold what is true, in simulated evaluations.
//
//     build/bench/private_evaluation_bench [RUNS [SHARE OF +1]]      with a share (0.5, 0.1 or 0.02) its tables
//     alone
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/score_laws.hpp"

namespace {

using namespace dpmpi::test;

void print_cell(const Coverage& c, int runs) {
  if (c.given == 0) return (void)std::printf(" null | |");
  std::printf(" %.4f | %.1f %%", c.reach, 100 * c.covered());
  if (c.given < runs) std::printf(" (%.1f %% null)", 100.0 * (runs - c.given) / runs);
  std::printf(" |");
}

struct Cell {
  std::size_t records;
  double epsilon;
  std::map<std::string, Coverage> all;
};
std::vector<Cell> cells_of(const Law& law, int runs) {
  std::vector<Cell> cells;
  for (const std::size_t n : {1000, 3000, 10000, 30000})
    // Epsilon at delta 1e-5, and the noise multiplier that keeps it (Balle and Wang 2018).
    for (const auto& [epsilon, z] : {std::pair{0.5, 7.032}, {1.0, 3.730}, {4.0, 1.100}})
      cells.push_back({n, epsilon, coverage_of(law, n, z, runs, 7)});
  return cells;
}

void print_table(std::vector<Cell>& cells, int runs, const std::vector<const char*>& metrics) {
  std::printf("| held out | epsilon |");
  for (const char* name : metrics) std::printf(" %s ± | covered |", name);
  std::printf("\n|---|---|");
  for (std::size_t m = 0; m < metrics.size(); ++m) std::printf("---|---|");
  std::printf("\n");
  for (Cell& cell : cells) {
    std::printf("| %zu | %g |", cell.records, cell.epsilon);
    for (const char* name : metrics) print_cell(cell.all[name], runs);
    std::printf("\n");
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// 3,000 records of classes, without noise and at epsilon 0.5.
void print_classes(const std::string& which, const LawOfClasses& law, int runs) {
  const auto classes = static_cast<double>(law.shares.size());
  const double recall = law.recall(), loss = law.log_loss();
  for (const double z : {0.0, 7.032}) {
    std::mt19937_64 bits(7);
    std::map<std::string, Coverage> all;
    for (int run = 0; run < runs; ++run)
      for (const auto& [name, e] : by_name(released(law, 3000, z, bits))) {
        if (!e.value) continue;
        const double truth = name == "log_loss" ? loss : recall;
        Coverage& c = all[name.starts_with("recall") ? "recall" : name];
        ++c.given, c.held += e.low <= truth && truth <= e.high, c.reach += 0.5 * (e.high - e.low);
      }
    for (auto& [name, c] : all) c.reach /= c.given;
    std::printf("| %s | %s |", which.c_str(), z > 0 ? "0.5" : "none");
    for (const char* name : {"accuracy", "balanced_accuracy", "log_loss"}) print_cell(all[name], runs);
    print_cell(all["recall"], static_cast<int>(runs * classes));
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int runs = count > 1 ? std::atoi(arguments[1]) : 1000;
  const double only = count > 2 ? std::atof(arguments[2]) : 0;
  for (const double positives : {0.5, 0.1, 0.02}) {
    if (only > 0 && positives != only) continue;
    const Law law{.positives = positives, .shift = std::log(positives / (1 - positives))};
    std::printf("%g of the records are +1: AUC %.3f, average precision %.3f\n\n", positives, law.auc(),
                law.average_precision());
    auto cells = cells_of(law, runs);
    for (const auto& metrics : {std::vector{"auc", "average_precision"}, {"accuracy", "recall", "log_loss"}})
      print_table(cells, runs, metrics);
  }
  if (only > 0) return 0;
  std::printf(
      "| classes | epsilon | accuracy ± | covered | balanced ± | covered | log-loss ± | covered | recall ± | "
      "covered |\n|---|---|---|---|---|---|---|---|---|---|\n");
  print_classes("3, equal", {{1.0 / 3, 1.0 / 3, 1.0 / 3}}, runs);
  print_classes("3, one rare", {{0.8, 0.15, 0.05}, 3}, runs);
  print_classes("10, equal", {std::vector<double>(10, 0.1), 3}, runs);
}
