#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <mpi.h>

#include "comm/session.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::test {
namespace {

const Communicator* the_world = nullptr;

// The root prints as usual; the other ranks print only what fails, with their number.
class FailurePrinter : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." +
            test.name();  // asking later would wait for a lock that the caller holds
  }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed())
      std::fprintf(stderr, "rank %d: %s failed at %s:%d\n%s\n", world().rank(), name_.c_str(),
                   result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
  }
  std::string name_;
};

// Until all ranks of the launch are here. Who waits sleeps: MPI's own barrier polls, and takes a core from those
// who work.
void meet() {
  if (the_world->size() == 1) return;
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int met = 0; !met; std::this_thread::sleep_for(std::chrono::microseconds(500)))
    MPI_Test(&request, &met, MPI_STATUS_IGNORE);
}

}  // namespace

const Communicator& world() { return *the_world; }

void for_each_size(std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body) {
  for (const int size : sizes) {
    const Communicator group = world().split(world().rank() < size ? 0 : -1);
    if (group.size() == size) {
      try {
        body(group);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d of %d: exception: %s\n", group.rank(), size, e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    meet();
  }
}

}  // namespace dpmpi::test

int main(int argc, char** argv) {
  dpmpi::Session session(argc, argv);
  dpmpi::test::the_world = &session.world();
  ::testing::InitGoogleTest(&argc, argv);
  if (!session.world().is_root()) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new dpmpi::test::FailurePrinter);
  }
  const int failed = RUN_ALL_TESTS();
  return session.world().any(failed != 0) ? 1 : 0;
}
