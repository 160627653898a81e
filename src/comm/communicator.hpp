#pragma once
// The only door to MPI: what the trainer needs of it, and no floating-point reduction at all (contract N3).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/numbers/lattice.hpp"

namespace dpmpi {

/// A group of ranks. Every operation is collective unless it says "local". Errors throw CommError.
class Communicator {
 public:
  /// A group of one that needs no MPI at all (serial tests, tools). Local.
  static Communicator alone();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }

  /// Exact sum over ranks, left in `values` on the root; other ranks' `values` are unspecified afterwards.
  /// Lengths must agree. Messages are split below 2^31 elements.
  void sum_to_root(std::span<std::int64_t> values) const;
  /// The same for a lattice sum: leaves the total in sum.message() on the root.
  void sum_to_root(LatticeAccumulator& sum) const;
  /// Exact sum over ranks on all of them.
  void sum(std::span<std::int64_t> values) const;

  /// Root's bytes to all. Lengths must agree.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void broadcast(std::span<T> values) const { broadcast_bytes(values.data(), values.size_bytes()); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void broadcast(T& value) const { broadcast_bytes(&value, sizeof value); }
  /// Root's text to all (any length on the others).
  void broadcast(std::string& text) const;

  /// Each rank's text, in rank order, on the root; empty elsewhere.
  std::vector<std::string> gather(const std::string& mine) const;
  /// parts[r] of the root goes to rank r (parts is read on the root only; size() entries).
  std::string scatter(const std::vector<std::string>& parts) const;
  /// Local pair: the root sends `bytes` to `to`; that rank receives them. For loading, where the root streams
  /// blocks out.
  void send(std::string_view bytes, int to) const;
  std::string receive(int from) const;
  /// parts[r] goes to rank r, and to no other: returns what each rank sent here, in rank order. `parts` is spent.
  std::vector<std::string> exchange(std::vector<std::string> parts) const;

  /// True on all if any rank passes true.
  bool any(bool mine) const;
  /// Throws CommError on all ranks, naming `what` and the ranks that differ from the root, unless digests are all
  /// equal.
  void agree(std::string_view digest, std::string_view what) const;
  void barrier() const;

  /// New group of the ranks that pass the same colour >= 0, ordered by rank; colour < 0 yields an empty group (size
  /// 0).
  Communicator split(int colour) const;

  /// New group of the ranks that share this rank's machine, ordered by rank.
  Communicator node() const;

  /// Limit of elements per MPI call; lowered by tests to exercise splitting. Local.
  static void set_chunk_limit(std::size_t elements);

 private:
  friend class Session;
  struct Handle;
  Communicator() = default;
  explicit Communicator(std::shared_ptr<Handle> handle);
  void broadcast_bytes(void* data, std::size_t bytes) const;
  std::shared_ptr<Handle> handle_;  // null: alone
  int rank_ = 0, size_ = 1;
};

}  // namespace dpmpi
