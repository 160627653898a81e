/* Stands between a program and MPI, through MPI's profiling interface, and writes every message that this process
   receives to $MPI_TAP_FOLDER/RANK, a line before each: LD_PRELOAD=libmpi_tap.so. It taps the functions of MPI that
   bring data; a program that uses others than these must not be judged by it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static FILE* record(void) {
  static FILE* file = NULL;
  if (file == NULL) {
    int rank = 0;
    char path[4096];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/%d", getenv("MPI_TAP_FOLDER"), rank);
    file = fopen(path, "ab");
    if (file == NULL) abort();
  }
  return file;
}

static void keep(const char* function, const void* data, int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  const size_t bytes = (size_t)count * (size_t)size;
  fprintf(record(), "\n<%s %zu>\n", function, bytes);
  fwrite(data, 1, bytes, record());
  fflush(record()); /* a job that fails is ended without farewell */
}

static int is_rank(int rank, MPI_Comm comm) {
  int mine = 0;
  PMPI_Comm_rank(comm, &mine);
  return mine == rank;
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int code = PMPI_Bcast(data, count, type, root, comm);
  if (!is_rank(root, comm)) keep("MPI_Bcast", data, count, type);
  return code;
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Status own;
  MPI_Status* const seen = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = PMPI_Recv(data, count, type, from, tag, comm, seen);
  int received = 0;
  PMPI_Get_count(seen, type, &received);
  keep("MPI_Recv", data, received, type);
  return code;
}

int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const int code = PMPI_Reduce(from, to, count, type, op, root, comm);
  if (is_rank(root, comm)) keep("MPI_Reduce", to, count, type);
  return code;
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int code = PMPI_Allreduce(from, to, count, type, op, comm);
  keep("MPI_Allreduce", to, count, type);
  return code;
}
