#include "run/train/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "core/console/log.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

std::string host() {
  char text[256] = "?";
  gethostname(text, sizeof text - 1);
  return text;
}

std::string where(const Heartbeat& rank) {
  return fmt::format("rank {} (process {} on {})", rank.rank.load(), rank.process.load(), host());
}

}  // namespace

HangDetector::HangDetector(std::span<const Heartbeat> ranks, std::uint64_t seconds)
    : ranks_(ranks), seconds_(seconds), seen_(ranks.size()) {}

Verdict HangDetector::look() {
  // A rank whose watchdog thread misses this many of its seconds does not run at all.
  constexpr std::uint64_t frozen_after = 5;
  const Heartbeat* blame = nullptr;
  bool blame_frozen = false, all_wait = true;
  std::int32_t speaker = -1;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const Heartbeat& rank = ranks_[i];
    Seen& seen = seen_[i];
    const std::uint64_t beats = rank.beats.load(), alive = rank.alive.load();
    seen.still = beats == seen.beats ? seen.still + 1 : 0;
    seen.dead = alive == seen.alive ? seen.dead + 1 : 0;
    seen.beats = beats, seen.alive = alive;
    const bool waits = rank.stage.load() == static_cast<std::uint32_t>(Stage::waiting);
    const bool frozen = seen.dead >= frozen_after;
    shortest = std::min(shortest, seen.still);
    all_wait = all_wait && waits;
    if (!frozen && speaker < 0) speaker = rank.rank.load();
    if (seen.still >= seconds_ && (frozen || !waits) && !blame) blame = &rank, blame_frozen = frozen;
  }
  if (blame) {
    const auto stage = static_cast<Stage>(blame->stage.load());
    return {fmt::format("{} has made no progress for {} s in step {}: it {} in {}. The other ranks wait for it",
                        where(*blame), seconds_, blame->step.load(),
                        blame_frozen ? "is stopped or frozen" : "hangs", name(stage)),
            blame_frozen ? speaker : blame->rank.load()};
  }
  if (all_wait && shortest >= seconds_ + grace)
    return {
        fmt::format("the ranks on {} have waited {} s in step {} for a rank of another machine, or for the network",
                    host(), shortest, ranks_.front().step.load()),
        speaker};
  return {};
}

Watchdog::Watchdog(std::span<const Heartbeat> ranks, double seconds) {
  if (seconds <= 0) return;
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::min(seconds, 1e9)));
  thread_ = std::thread([this, ranks, whole] { watch(HangDetector(ranks, whole)); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Watchdog::watch(HangDetector detector) {
  Heartbeat& mine = heartbeat();
  std::unique_lock<std::mutex> guard(mutex_);
  for (int late = 0; !wake_.wait_for(guard, std::chrono::seconds(1), [this] { return done_; });) {
    mine.alive.fetch_add(1);
    const Verdict verdict = detector.look();
    if (verdict.text.empty()) {
      late = 0;
    } else if (verdict.speaker == mine.rank.load() || ++late > 3) {  // the speaker ends the others
      print_user(
          "dpmpi: {}. Go on with 'dpmpi resume' when the cause is gone; a larger run.timeout_s waits longer\n",
          painted(Colour::red, verdict.text));
      std::fflush(nullptr);
      _exit(static_cast<int>(ExitCode::mpi));
    }
  }
}

}  // namespace dpmpi
