#pragma once
// The life of MPI in this process. One Session in main, alive for the whole program. A process without a launcher
// has nobody to talk to and does not start MPI: that would take longer than most commands do, and not every login
// node has it.

#include <exception>
#include <functional>

#include "comm/communicator.hpp"

namespace dpmpi {

class Session {
 public:
  Session(int& argc, char**& argv);  ///< MPI_Init (funneled), if a launcher started this process
  /// Finalises, unless an exception is on its way: finalising while other ranks wait in a collective hangs the job.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Communicator& world() const { return world_; }

  /// Runs `body` on every rank. An exception on any rank ends the whole job within seconds with that error's exit
  /// code and one message that names the rank; what all ranks see alike is printed by the root only. Returns body's
  /// value.
  int run(const std::function<int(const Communicator&)>& body);

  /// For programs that have MPI's life in their own hands and dpmpi as a library. All processes of one that has
  /// started MPI, else this process alone; throws CommError if a launcher started several and nobody has started
  /// MPI. Collective.
  static Communicator world_of_host();
  /// Ends the job of `world` as run() does.
  [[noreturn]] static void end_job(const Communicator& world, const std::exception_ptr& error);

 private:
  bool launched_;
  Communicator world_;
};

/// Rank of this process as the launcher tells it, before MPI_Init (0 where it does not say).
int launcher_rank();

/// Says an error that every process meets before MPI starts: once, on the first process. Returns its exit code.
int report_before_mpi(const std::exception_ptr& error);

}  // namespace dpmpi
