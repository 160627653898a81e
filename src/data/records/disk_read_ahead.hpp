#pragma once
// Rows of a batch on their way from the disk while kernels work on those before them.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "data/records/blocks.hpp"

namespace dpmpi {

/// Asks the disk for the rows of a batch in the order in which kernels come to them, some of them at a time, by a
/// thread of its own. It reads nothing itself, and no result depends on it. Only of rows that are mapped
/// (data.memory = map): of others no thread is begun. All local.
class DiskReadAhead {
 public:
  DiskReadAhead() = default;
  ~DiskReadAhead();
  DiskReadAhead(const DiskReadAhead&) = delete;
  DiskReadAhead& operator=(const DiskReadAhead&) = delete;

  /// From here on the rows `selected` of each block of the shard are wanted, in this order. Both must stay as they
  /// are until end().
  void begin(const Shard& shard, std::span<const std::vector<std::uint32_t>> selected);
  /// So many more rows have been read.
  void read(std::size_t rows) {
    if (!thread_) return;
    rows_read_.store(rows_read_.load(std::memory_order_relaxed) + rows, std::memory_order_release);
    rows_read_.notify_one();
  }
  /// No more rows are wanted: returns when the thread has stopped looking at the batch.
  void end();

 private:
  enum class State : std::uint32_t { idle, wanted, ending, gone };
  void advise(bool random);
  void run();
  void ask_for_batch();
  bool wait_for_room(std::uint64_t rows_asked, std::uint64_t row_bytes);

  const Shard* shard_ = nullptr;
  std::span<const std::vector<std::uint32_t>> selected_;
  std::optional<bool> random_;  // what the kernel was told of the blocks
  std::atomic<State> state_ = State::idle;
  std::atomic<std::uint64_t> rows_read_ = 0;
  std::optional<std::thread> thread_;
};

}  // namespace dpmpi
