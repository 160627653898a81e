// Trains with the MPI of this program. Usage: mpirun -n N ranks CONFIG RUN
#include <cstdio>

#include <mpi.h>
#include <dpmpi/dpmpi.hpp>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const char* times : {"-first", "-second"}) {  // a program may train more than once
    const std::string run = std::string(argv[2]) + times;
    const auto trained = dpmpi::library::train(argv[1], {"run.dir=" + run, "privacy.seed=3"});
    if (!trained.finished || trained.metrics.at("eval.accuracy") <= 0) return 1;
    if (rank > 0) std::printf("rank %d: accuracy %g\n", rank, trained.metrics.at("eval.accuracy"));
  }
  MPI_Finalize();
}
