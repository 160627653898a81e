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

/// The datasets of a contest, and who watches.
class Board {
 public:
  Board(const AuditGround& ground, const Contest& contest, const RecordPair& pair)
      : ground_(ground),
        contest_(contest),
        suspects_(gather_rows(ground.shape, rows_of(pair))),
        shards_{ground.dataset(ground.place, std::span(&pair.first, 1), contest.among_public),
                ground.dataset(ground.place, std::span(&pair.second, 1), contest.among_public)},
        observer_(contest.at_worst ? *ground.worst_objective() : *ground.objective, suspects_,
                  std::vector(suspects_.count, ground.place), ground.layout) {
    if (!ground.groups.idle()) observer_.expect(effect_of_second());
    if (contest.among_public) expect_background();
  }

  double seconds() const { return seconds_; }
  Transcript play(bool second, std::uint64_t key) {
    ground_.run(shards_[second], key, observer_, contest_.at_worst);
    return observer_.transcript();
  }

 private:
  static std::vector<RowSource> rows_of(const RecordPair& pair) {
    if (!pair.first.records) return {pair.second};
    return {pair.first, pair.second};
  }

  // Two runs with one key: the same noise.
  std::vector<double> effect_of_second() {
    const auto begin = std::chrono::steady_clock::now();
    play(false, ground_.common_key());
    const std::vector<double> before(observer_.effect().begin(), observer_.effect().end());
    play(true, ground_.common_key());
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 2;
    std::vector<double> difference(observer_.effect().begin(), observer_.effect().end());
    for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= before[j];
    return difference;
  }

  // What releases are like without the record, from some runs that count for nothing else.
  void expect_background() {
    constexpr std::uint64_t runs = 32;
    const auto all = deal_numbers(ground_.groups, runs, [&](std::uint64_t i) {
      play(false, PublicStream(ground_.seed(), "background").word(i));
      return std::vector(observer_.weighed().begin(), observer_.weighed().end());
    });
    std::uint64_t size = all.empty() ? 0 : all.front().size();
    ground_.world.broadcast(size);
    std::vector<double> mean(size), deviation(size);
    for (std::size_t k = 0; !all.empty() && k < size; ++k) {
      double square = 0;
      for (const auto& run : all) mean[k] += run.at(k) / runs;
      for (const auto& run : all) square += (run[k] - mean[k]) * (run[k] - mean[k]) / (runs - 1);
      deviation[k] = std::sqrt(square);
    }
    ground_.world.broadcast(std::span(mean));
    ground_.world.broadcast(std::span(deviation));
    observer_.expect_background(std::move(mean), std::move(deviation));
  }

  const AuditGround& ground_;
  Contest contest_;
  Records suspects_;
  Shard shards_[2];
  double seconds_ = 0;  // of a run
  Observer observer_;
};

}  // namespace

GameResult distinguish(const AuditGround& ground, const Contest& contest, const RecordPair& pair, double error) {
  GameResult result{.game = contest.name};
  if (contest.among_public && ground.public_rows.empty()) {
    result.remark = "needs public records: data.eval";
    return result;
  }
  Board board(ground, contest, pair);
  const auto runs = static_cast<std::uint64_t>(ground.config.audit.runs);
  const double seconds = board.seconds() * static_cast<double>(runs) / static_cast<double>(ground.groups.count);
  if (ground.announces && seconds > 2)
    fmt::print("{}: {} runs take about {}\n", result.game, runs, duration_text(seconds));
  Progress progress("playing " + result.game, runs, "runs", 0, !ground.plan.hides_times());
  const Transcripts all = play_rounds(
      ground.groups, [&](const Communicator&, bool second, std::uint64_t key) { return board.play(second, key); },
      {runs, ground.seed(), [&](std::uint64_t done) {
         if (progress.reached(done)) progress.show();
       }});
  result.runs = runs;
  if (!ground.world.is_root()) return result;
  const Proof proof = prove(all.first, all.second, ground.plan.delta(), error);
  result.test = proof.test, result.bound = proof.epsilon;
  result.found = proof.found, result.false_alarms = proof.false_alarms;
  judge(ground, result);
  return result;
}

GameResult worst_case(const AuditGround& ground, double error) {
  if (!ground.worst_objective())
    return {.game = "worst_case", .remark = "the method does more than add up clipped gradients"};
  const Records in = worst_case_canaries(ground.shape, 1, false), out = worst_case_canaries(ground.shape, 1, true);
  const RecordPair pair{ground.replaces() ? RowSource{&out, 0} : RowSource{}, {&in, 0}};
  return distinguish(ground, {.name = "worst_case", .at_worst = true}, pair, error);
}

}  // namespace dpmpi
