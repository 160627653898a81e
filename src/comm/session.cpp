#include "comm/session.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>
#include <mpi.h>
#include <unistd.h>

#include "comm/handle.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {
namespace {

struct Failure {
  ExitCode code;
  std::string text;
  bool alike;  // every rank meets it at the same place
};

Failure describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    const bool alike = e.code() == ExitCode::config || e.code() == ExitCode::privacy || e.code() == ExitCode::data;
    return {e.code(), fmt::format("{}: {}", painted(Colour::red, e.kind()), e.what()), alike};
  } catch (const std::system_error& e) {  // the system's refusal, not a bug: a path, a disk, a closed pipe
    return {ExitCode::data, fmt::format("{}: {}", painted(Colour::red, "data error"), e.what()), false};
  } catch (const std::bad_alloc&) {
    return {ExitCode::bug, painted(Colour::red, "out of memory"), false};
  } catch (const std::exception& e) {
    return {ExitCode::bug, fmt::format("{} (please report): {}", painted(Colour::red, "internal error"), e.what()),
            false};
  } catch (...) {
    return {ExitCode::bug, painted(Colour::red, "internal error") + " (please report): unknown exception", false};
  }
}

/// An error that all ranks meet alike is said once, by the first: the exit or abort that follows ends the others
/// while they wait here. One that is alone with it speaks after the wait. (One that left at once could have the
/// launcher end the first before it spoke.)
void report_alike(const Failure& failure, bool first, const std::string& rank) {
  if (!first) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  print_user("dpmpi: {}{}\n", first ? "" : rank, failure.text);
}

[[noreturn]] void end_job_of(const Communicator& world, const Failure& failure) {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  const std::string rank = fmt::format("rank {}/{} on {}: ", world.rank(), world.size(), host);
  if (failure.alike)
    report_alike(failure, world.is_root(), rank);
  else
    print_user("dpmpi: {}{}\n", rank, failure.text);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(failure.code));
  std::_Exit(static_cast<int>(failure.code));
}

/// What a launcher says of this process's rank, if there is one: Open MPI's, those that speak PMIx or PMI,
/// MVAPICH's, Slurm, Flux, and those of Cray and IBM.
const char* launchers_word() {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_ID", "MV2_COMM_WORLD_RANK", "MPIRUN_RANK",
        "SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID", "ALPS_APP_PE", "JSM_NAMESPACE_RANK"})
    if (const char* value = std::getenv(name)) return value;
  return nullptr;
}

}  // namespace

int launcher_rank() {
  const char* const word = launchers_word();
  return word ? std::atoi(word) : 0;
}

int report_before_mpi(const std::exception_ptr& error) {
  const Failure failure = describe(error);
  report_alike(failure, launcher_rank() == 0, "");
  return static_cast<int>(failure.code);
}

Session::Session(int& argc, char**& argv) : launched_(launchers_word()), world_(Communicator::alone()) {
  // Products allocate and free the same buffers in every step; handing the pages back each time costs a third of
  // the rate.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  if (launched_) {
    int provided = 0;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
      throw CommError("MPI_Init failed");
    world_ = Communicator(Communicator::Handle::duplicate(MPI_COMM_WORLD));
  }
  if (world_.node().size() == 1) forbid_looking_in();
}

Session::~Session() {
  if (std::uncaught_exceptions() > 0) return;
  world_ = Communicator::alone();
  if (launched_) MPI_Finalize();
}

int Session::run(const std::function<int(const Communicator&)>& body) {
  try {
    return body(world_);
  } catch (...) {
    const Failure failure = describe(std::current_exception());
    if (world_.size() == 1) {  // nobody to take down: leave in good order, without the launcher's abort notice
      print_user("dpmpi: {}\n", failure.text);
      return static_cast<int>(failure.code);
    }
    end_job_of(world_, failure);
  }
}

Communicator Session::world_of_host() {
  int started = 0;
  MPI_Initialized(&started);
  if (started) return Communicator(Communicator::Handle::duplicate(MPI_COMM_WORLD));
  if (launchers_word())
    throw CommError(
        "a launcher started this program, and it has not called MPI_Init: every process would train alone");
  return Communicator::alone();
}

void Session::end_job(const Communicator& world, const std::exception_ptr& error) {
  end_job_of(world, describe(error));
}

}  // namespace dpmpi
