#include "comm/communicator.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/handle.hpp"
#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

std::size_t chunk_limit = std::size_t{1} << 30;  // MPI 3.1 counts are int

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(fmt::format("{} failed: {}", what, text));
}

/// Calls operation(offset, count) over [0, total) in pieces that fit an int count.
template <class Operation>
void in_chunks(std::size_t total, Operation operation) {
  for (std::size_t offset = 0; offset < total; offset += chunk_limit)
    operation(offset, static_cast<int>(std::min(chunk_limit, total - offset)));
}

}  // namespace

Communicator::Handle::~Handle() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

std::shared_ptr<Communicator::Handle> Communicator::Handle::adopt(MPI_Comm comm) {
  auto handle = std::make_shared<Handle>();
  handle->comm = comm;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return handle;
}

std::shared_ptr<Communicator::Handle> Communicator::Handle::duplicate(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &copy), "MPI_Comm_dup");
  return adopt(copy);
}

Communicator::Communicator(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {
  check(MPI_Comm_rank(handle_->comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(handle_->comm, &size_), "MPI_Comm_size");
}

Communicator Communicator::alone() { return Communicator(); }

void Communicator::set_chunk_limit(std::size_t elements) { chunk_limit = std::max<std::size_t>(1, elements); }

// As unsigned numbers, whose sums are defined modulo 2^64: masks that cancel rely on that.
void Communicator::sum_to_root(std::span<std::int64_t> values) const {
  const InStage waiting(Stage::waiting);
  if (size_ <= 1) return;
  in_chunks(values.size(), [&](std::size_t offset, int count) {
    std::int64_t* data = values.data() + offset;
    check(MPI_Reduce(is_root() ? MPI_IN_PLACE : data, is_root() ? data : nullptr, count, MPI_UINT64_T, MPI_SUM, 0,
                     handle_->comm),
          "sum to root");
  });
}

namespace {

// In pieces that are added while they are in the cache.
constexpr std::size_t piece_bytes = 1 << 17;
constexpr int sum_tag = 1;

template <class T>
void send_pieces(std::span<const T> values, MPI_Datatype type, MPI_Comm comm) {
  constexpr std::size_t piece = piece_bytes / sizeof(T);
  for (std::size_t offset = 0; offset < values.size(); offset += piece) {
    const auto count = static_cast<int>(std::min(piece, values.size() - offset));
    check(MPI_Send(values.data() + offset, count, type, 0, sum_tag, comm), "sum to root");
  }
}

template <class T>
void add_pieces(std::span<std::int64_t> total, MPI_Datatype type, MPI_Comm comm) {
  constexpr std::size_t piece = piece_bytes / sizeof(T);
  static thread_local AlignedVector<T> buffer(piece);
  for (std::size_t offset = 0; offset < total.size(); offset += piece) {
    const std::size_t count = std::min(piece, total.size() - offset);
    check(MPI_Recv(buffer.data(), static_cast<int>(count), type, 1, sum_tag, comm, MPI_STATUS_IGNORE),
          "sum to root");
    for (std::size_t j = 0; j < count; ++j) total[offset + j] += buffer[j];
  }
}

}  // namespace

// Two ranks have no one between them: the worker's sum goes straight to the root, its front as int32 as far as that
// fits (half the bytes), and is added piece by piece; the library's reduction moves twice as much through memory.
void Communicator::sum_to_root(LatticeAccumulator& sum) const {
  const InStage waiting(Stage::waiting);
  if (size_ != 2) return sum_to_root(sum.message());
  MPI_Comm comm = handle_->comm;
  if (is_root()) {
    const auto total = sum.message();
    std::uint64_t front = 0;
    check(MPI_Recv(&front, 1, MPI_UINT64_T, 1, sum_tag, comm, MPI_STATUS_IGNORE), "sum to root");
    verify(front <= sum.dim(), "the front of a sum");
    add_pieces<std::int32_t>(total.first(front), MPI_INT32_T, comm);
    add_pieces<std::int64_t>(total.subspan(front), MPI_INT64_T, comm);
  } else {
    const auto narrow = sum.narrow();
    const std::uint64_t front = narrow.size();
    check(MPI_Send(&front, 1, MPI_UINT64_T, 0, sum_tag, comm), "sum to root");
    send_pieces<std::int32_t>(narrow, MPI_INT32_T, comm);
    send_pieces<std::int64_t>(sum.behind_narrow(), MPI_INT64_T, comm);
  }
}

void Communicator::sum(std::span<std::int64_t> values) const {
  const InStage waiting(Stage::waiting);
  if (size_ <= 1) return;
  in_chunks(values.size(), [&](std::size_t offset, int count) {
    check(MPI_Allreduce(MPI_IN_PLACE, values.data() + offset, count, MPI_UINT64_T, MPI_SUM, handle_->comm), "sum");
  });
}

void Communicator::broadcast_bytes(void* data, std::size_t bytes) const {
  const InStage waiting(Stage::waiting);
  if (size_ <= 1) return;
  in_chunks(bytes, [&](std::size_t offset, int count) {
    check(MPI_Bcast(static_cast<char*>(data) + offset, count, MPI_BYTE, 0, handle_->comm), "broadcast");
  });
}

void Communicator::broadcast(std::string& text) const {
  std::uint64_t length = text.size();
  broadcast(length);
  text.resize(length);
  broadcast_bytes(text.data(), length);
}

std::vector<std::string> Communicator::gather(const std::string& mine) const {
  if (size_ <= 1) return {mine};
  if (!is_root()) {
    send(mine, 0);
    return {};
  }
  std::vector<std::string> all{mine};
  for (int r = 1; r < size_; ++r) all.push_back(receive(r));
  return all;
}

std::string Communicator::scatter(const std::vector<std::string>& parts) const {
  if (!is_root()) return receive(0);
  verify(parts.size() == static_cast<std::size_t>(size_), "scatter needs one part for each rank");
  for (int r = 1; r < size_; ++r) send(parts[static_cast<std::size_t>(r)], r);
  return parts[0];
}

void Communicator::send(std::string_view bytes, int to) const {
  const InStage waiting(Stage::waiting);
  const std::uint64_t length = bytes.size();
  check(MPI_Send(&length, 1, MPI_UINT64_T, to, 0, handle_->comm), "send");
  in_chunks(bytes.size(), [&](std::size_t offset, int count) {
    check(MPI_Send(bytes.data() + offset, count, MPI_BYTE, to, 0, handle_->comm), "send");
  });
}

std::string Communicator::receive(int from) const {
  const InStage waiting(Stage::waiting);
  std::uint64_t length = 0;
  check(MPI_Recv(&length, 1, MPI_UINT64_T, from, 0, handle_->comm, MPI_STATUS_IGNORE), "receive");
  std::string bytes(length, '\0');
  in_chunks(bytes.size(), [&](std::size_t offset, int count) {
    check(MPI_Recv(bytes.data() + offset, count, MPI_BYTE, from, 0, handle_->comm, MPI_STATUS_IGNORE), "receive");
  });
  return bytes;
}

// All that is sent is on its way before anybody waits: nobody waits for a rank that waits for him.
std::vector<std::string> Communicator::exchange(std::vector<std::string> parts) const {
  verify(parts.size() == static_cast<std::size_t>(size_), "an exchange needs one part for each rank");
  if (size_ <= 1) return parts;
  std::vector<std::uint64_t> lengths;
  for (const std::string& part : parts) lengths.push_back(part.size());
  std::vector<MPI_Request> requests;
  const auto mine = static_cast<std::size_t>(rank_);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    if (r == mine) continue;
    const int to = static_cast<int>(r);
    check(MPI_Isend(&lengths[r], 1, MPI_UINT64_T, to, 0, handle_->comm, &requests.emplace_back()), "exchange");
    in_chunks(parts[r].size(), [&](std::size_t offset, int count) {
      check(MPI_Isend(parts[r].data() + offset, count, MPI_BYTE, to, 0, handle_->comm, &requests.emplace_back()),
            "exchange");
    });
  }
  std::vector<std::string> received;
  for (std::size_t r = 0; r < parts.size(); ++r)
    received.push_back(r == mine ? std::string() : receive(static_cast<int>(r)));
  const InStage waiting(Stage::waiting);
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "exchange");
  received[mine] = std::move(parts[mine]);
  return received;
}

bool Communicator::any(bool mine) const {
  std::int64_t count = mine ? 1 : 0;
  sum(std::span(&count, 1));
  return count > 0;
}

void Communicator::agree(std::string_view digest, std::string_view what) const {
  if (size_ <= 1) return;
  const auto all = gather(std::string(digest));
  std::string verdict;
  if (is_root()) {
    std::vector<int> others;
    for (int r = 1; r < size_; ++r)
      if (all[static_cast<std::size_t>(r)] != all[0]) others.push_back(r);
    if (!others.empty())
      verdict = fmt::format(
          "ranks disagree on {}: rank {} differ{} from the root. Are all ranks running the same program on the same config?",
          what, fmt::join(others, ", "), others.size() == 1 ? "s" : "");
  }
  broadcast(verdict);
  if (!verdict.empty()) throw CommError(verdict);
}

void Communicator::barrier() const {
  const InStage waiting(Stage::waiting);
  if (size_ > 1) check(MPI_Barrier(handle_->comm), "barrier");
}

Communicator Communicator::split(int colour) const {
  const InStage waiting(Stage::waiting);
  if (!handle_) {
    Communicator same = alone();
    if (colour < 0) same.size_ = 0;
    return same;
  }
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(handle_->comm, colour < 0 ? MPI_UNDEFINED : colour, rank_, &part), "split");
  if (part != MPI_COMM_NULL) return Communicator(Handle::adopt(part));
  Communicator none;
  none.size_ = 0;
  return none;
}

Communicator Communicator::node() const {
  const InStage waiting(Stage::waiting);
  if (!handle_) return alone();
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split_type(handle_->comm, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part), "split by node");
  return Communicator(Handle::adopt(part));
}

}  // namespace dpmpi
