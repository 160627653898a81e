#pragma once
// What this process is doing, for a watchdog that looks from another thread or another process of the same machine.

#include <atomic>
#include <cstdint>

namespace dpmpi {

/// What a rank can hang in. `waiting` is any MPI call: there it waits for others, everywhere else others wait for
/// it.
enum class Stage : std::uint32_t {
  start,
  load,
  directory,
  ledger,
  kernels,
  noise,
  update,
  evaluate,
  checkpoint,
  finish,
  waiting
};
const char* name(Stage stage);

/// Lives in shared memory when ranks share a machine; all zero bits is a valid start.
struct Heartbeat {
  std::atomic<std::uint64_t> beats{0};  ///< changes whenever the main thread gets on
  std::atomic<std::uint64_t> alive{0};  ///< changes every second while any thread of the process runs
  std::atomic<std::uint64_t> step{0};
  std::atomic<std::uint32_t> stage{0};
  std::atomic<std::int32_t> rank{0}, process{0};
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

  void beat() { beats.fetch_add(1, std::memory_order_relaxed); }
};

/// The heartbeat of this process. Only the main thread changes beats, step and stage.
Heartbeat& heartbeat();
/// Moves it elsewhere (shared memory); null: back to a place of its own.
void place_heartbeat(Heartbeat* place);

/// Marks a stage for as long as it lives; the one around it comes back afterwards.
class InStage {
 public:
  explicit InStage(Stage stage) : before_(heartbeat().stage.load(std::memory_order_relaxed)) {
    set(static_cast<std::uint32_t>(stage));
  }
  ~InStage() { set(before_); }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  static void set(std::uint32_t stage) {
    heartbeat().stage.store(stage, std::memory_order_relaxed);
    heartbeat().beat();
  }
  std::uint32_t before_;
};

}  // namespace dpmpi
