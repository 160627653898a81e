#pragma once
// Counts what a program sends, and searches it for given bytes, through MPI's profiling interface. It defines
// functions of MPI: include it in one source of a program.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

namespace dpmpi::test {

struct Traffic {
  std::uint64_t up = 0, down = 0, other = 0;
};
inline Traffic traffic;

/// Bytes to look out for in what this rank sends, and whether each was there.
struct Watched {
  std::string bytes;
  bool seen = false;
};
inline std::vector<Watched> watched;

inline std::uint64_t bytes(int count, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

/// The bytes of a message that this rank is about to send.
inline std::uint64_t sent(const void* data, int count, MPI_Datatype type) {
  const std::uint64_t size = bytes(count, type);
  if (data == MPI_IN_PLACE) return size;
  const std::string_view message(static_cast<const char*>(data), size);
  for (Watched& w : watched) w.seen = w.seen || message.find(w.bytes) != message.npos;
  return size;
}

}  // namespace dpmpi::test

// The profiling interface: these stand before the library's functions in this program.
extern "C" {
int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  dpmpi::test::traffic.up += dpmpi::test::sent(from, count, type);
  return PMPI_Reduce(from, to, count, type, op, root, comm);
}
int MPI_Send(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  dpmpi::test::traffic.up += dpmpi::test::sent(from, count, type);
  return PMPI_Send(from, count, type, to, tag, comm);
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  dpmpi::test::traffic.down += dpmpi::test::sent(data, count, type);
  return PMPI_Bcast(data, count, type, root, comm);
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  dpmpi::test::traffic.other += dpmpi::test::sent(from == MPI_IN_PLACE ? to : from, count, type);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
}
