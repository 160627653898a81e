#include "data/records/disk_read_ahead.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace dpmpi {
namespace {

/// What may be on its way: enough for a disk with a queue, little beside the memory of a rank.
constexpr std::uint64_t bytes_ahead = std::uint64_t{32} << 20;
/// The kernel takes no more than this of one request.
constexpr std::uint64_t request_bytes = std::uint64_t{128} << 10;
/// Rows with a smaller gap between them are asked for at once.
constexpr std::uint64_t gap_bytes = std::uint64_t{16} << 10;

std::uint64_t row_bytes_of(const Records& records) {
  return records.stride * (records.storage == Storage::dense_f32 ? sizeof(float) : 1);
}

const char* row_of(const Records& records, std::uint32_t row) {
  return static_cast<const char*>(records.mapped.get()) + row * row_bytes_of(records);
}

std::uintptr_t page_of(const char* byte) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return reinterpret_cast<std::uintptr_t>(byte) / page * page;
}

void ask_for(const char* begin, const char* end) {
  const auto last = reinterpret_cast<std::uintptr_t>(end);
  for (std::uintptr_t at = page_of(begin); at < last; at += request_bytes)
    madvise(reinterpret_cast<void*>(at), std::min<std::uint64_t>(request_bytes, last - at), MADV_WILLNEED);
}

/// Whether a batch leaves so many rows out that their neighbours on the disk are not wanted with them.
bool is_scattered(const Shard& shard, std::span<const std::vector<std::uint32_t>> selected) {
  std::uint64_t rows = 0, wanted = 0;
  for (const Block& block : shard.blocks) rows += block.records.count;
  for (const auto& of_block : selected) wanted += of_block.size();
  return wanted < rows / 4;
}

/// Stop requests are for the thread that heeds them.
void leave_signals_to_others() {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

DiskReadAhead::~DiskReadAhead() {
  if (!thread_) return;
  end();
  state_.store(State::gone);
  state_.notify_all();
  thread_->join();
}

void DiskReadAhead::begin(const Shard& shard, std::span<const std::vector<std::uint32_t>> selected) {
  if (shard.files.empty()) return;
  shard_ = &shard;
  selected_ = selected;
  rows_read_.store(0);
  advise(is_scattered(shard, selected));
  state_.store(State::wanted);
  if (thread_)
    state_.notify_all();
  else
    thread_.emplace([this] { run(); });
}

/// A page that is read before the thread has asked for it brings its neighbours along, megabytes on some machines,
/// unless the kernel is told not to.
void DiskReadAhead::advise(bool random) {
  if (random_ == random) return;
  random_ = random;
  for (const Block& block : shard_->blocks) {
    const Records& records = block.records;
    const std::uintptr_t begin = page_of(row_of(records, 0));
    const auto end = reinterpret_cast<std::uintptr_t>(row_of(records, static_cast<std::uint32_t>(records.count)));
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, random ? MADV_RANDOM : MADV_NORMAL);
  }
}

void DiskReadAhead::end() {
  if (!thread_) return;
  State wanted = State::wanted;
  state_.compare_exchange_strong(wanted, State::ending);
  rows_read_.fetch_add(1);  // it may wait for this
  rows_read_.notify_all();
  for (State now = state_.load(); now != State::idle; now = state_.load()) state_.wait(now);
}

void DiskReadAhead::run() {
  leave_signals_to_others();
  for (;;) {
    State now = state_.load();
    for (; now == State::idle; now = state_.load()) state_.wait(State::idle);
    if (now == State::gone) return;
    if (now == State::wanted) ask_for_batch();
    state_.store(State::idle);
    state_.notify_all();
  }
}

/// False: the batch is over.
bool DiskReadAhead::wait_for_room(std::uint64_t rows_asked, std::uint64_t row_bytes) {
  for (;;) {
    const std::uint64_t read = rows_read_.load(std::memory_order_acquire);
    if (state_.load() != State::wanted) return false;
    if (rows_asked <= read || (rows_asked - read) * row_bytes < bytes_ahead) return true;
    rows_read_.wait(read);
  }
}

void DiskReadAhead::ask_for_batch() {
  std::uint64_t asked = 0;
  for (std::size_t b = 0; b < selected_.size(); ++b) {
    const Records& records = shard_->blocks[b].records;
    const std::vector<std::uint32_t>& rows = selected_[b];
    const std::uint64_t row_bytes = row_bytes_of(records);
    for (std::size_t i = 0; i < rows.size();) {
      const char* const begin = row_of(records, rows[i]);
      const char* end = begin + row_bytes;
      std::size_t next = i + 1;
      for (; next < rows.size(); ++next) {
        const char* const row = row_of(records, rows[next]);
        if (row > end + gap_bytes || row + row_bytes > begin + request_bytes) break;
        end = row + row_bytes;
      }
      ask_for(begin, end);
      asked += next - i;
      i = next;
      if (!wait_for_room(asked, row_bytes)) return;
    }
  }
}

}  // namespace dpmpi
