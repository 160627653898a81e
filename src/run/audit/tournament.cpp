// Games of two datasets that differ in one record.

#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/numbers/random.hpp"
#include "run/audit/games.hpp"

namespace dpmpi {
namespace {

/// The datasets of a game, and who watches.
class Board {
 public:
  Board(const AuditSetup& setup, const PairGame& game, const RecordPair& pair)
      : setup_(setup),
        game_(game),
        suspects_(copy_rows(setup.shape, rows_of(pair))),
        shards_{setup.dataset(setup.place, std::span(&pair.first, 1), game.among_public),
                setup.dataset(setup.place, std::span(&pair.second, 1), game.among_public)},
        attacker_(game.at_worst ? *setup.worst_objective() : *setup.objective, suspects_,
                  std::vector(suspects_.count, setup.place), setup.plan.layout, setup.canary_slots()) {
    if (!setup.groups.idle()) attacker_.expect(effect_of_second());
    if (game.among_public) expect_background();
  }

  double seconds() const { return seconds_; }
  Transcript run_game(bool second, std::uint64_t key) {
    setup_.run(shards_[second], key, attacker_, game_.at_worst);
    return attacker_.transcript();
  }

 private:
  static std::vector<RowSource> rows_of(const RecordPair& pair) {
    if (!pair.first.records) return {pair.second};
    return {pair.first, pair.second};
  }

  // Two runs with one key: the same noise.
  std::vector<double> effect_of_second() {
    const auto begin = std::chrono::steady_clock::now();
    run_game(false, setup_.common_key());
    const std::vector<double> before(attacker_.effect().begin(), attacker_.effect().end());
    run_game(true, setup_.common_key());
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 2;
    std::vector<double> difference(attacker_.effect().begin(), attacker_.effect().end());
    for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= before[j];
    return difference;
  }

  // What releases are like without the record, from some runs that count for nothing else.
  void expect_background() {
    constexpr std::uint64_t runs = 32;
    const auto all = deal_numbers(setup_.groups, runs, [&](std::uint64_t i) {
      run_game(false, PublicStream(setup_.seed(), "background").word(i));
      return std::vector(attacker_.weighed().begin(), attacker_.weighed().end());
    });
    std::uint64_t size = all.empty() ? 0 : all.front().size();
    setup_.world.broadcast(size);
    std::vector<double> mean(size), deviation(size);
    for (std::size_t k = 0; !all.empty() && k < size; ++k) {
      double square = 0;
      for (const auto& run : all) mean[k] += run.at(k) / runs;
      for (const auto& run : all) square += (run[k] - mean[k]) * (run[k] - mean[k]) / (runs - 1);
      deviation[k] = std::sqrt(square);
    }
    setup_.world.broadcast(std::span(mean));
    setup_.world.broadcast(std::span(deviation));
    attacker_.expect_background(std::move(mean), std::move(deviation));
  }

  const AuditSetup& setup_;
  PairGame game_;
  Records suspects_;
  Shard shards_[2];
  double seconds_ = 0;  // of a run
  Attacker attacker_;
};

}  // namespace

GameResult distinguish(const AuditSetup& setup, const PairGame& game, const RecordPair& pair, double error) {
  GameResult result{.game = game.name};
  if (game.among_public && setup.public_rows.empty()) {
    result.remark = "needs public records: data.eval";
    return result;
  }
  Board board(setup, game, pair);
  const auto runs = static_cast<std::uint64_t>(setup.config.audit.runs);
  const double seconds = board.seconds() * static_cast<double>(runs) / static_cast<double>(setup.groups.count);
  if (setup.announces && seconds > 2)
    fmt::print("{}: {} runs take about {}\n", result.game, runs, duration_text(seconds));
  Progress progress("playing " + result.game, runs, "runs", 0, !setup.plan.hides_times());
  const Transcripts all =
      run_games(setup.groups,
                [&](const Communicator&, bool second, std::uint64_t key) { return board.run_game(second, key); },
                {runs, setup.seed(), [&](std::uint64_t done) {
                   if (progress.reached(done)) progress.show();
                 }});
  result.runs = runs;
  if (!setup.world.is_root()) return result;
  const Proof proof = prove(all.first, all.second, setup.plan.delta(), error);
  result.test = proof.test, result.bound = proof.epsilon;
  result.found = proof.found, result.false_alarms = proof.false_alarms;
  compare_with_promise(setup, result);
  return result;
}

GameResult worst_case(const AuditSetup& setup, double error) {
  if (!setup.worst_objective())
    return {.game = "worst_case", .remark = "the method does more than add up clipped gradients"};
  const Records in = worst_case_canaries(setup.shape, 1, false), out = worst_case_canaries(setup.shape, 1, true);
  const RecordPair pair{setup.replaces() ? RowSource{&out, 0} : RowSource{}, {&in, 0}};
  return distinguish(setup, {.name = "worst_case", .at_worst = true}, pair, error);
}

}  // namespace dpmpi
