#pragma once
// Private to comm: the owned MPI communicator.

#include <memory>

#include <mpi.h>

#include "comm/communicator.hpp"

namespace dpmpi {

struct Communicator::Handle {
  MPI_Comm comm = MPI_COMM_NULL;
  ~Handle();
  static std::shared_ptr<Handle> adopt(MPI_Comm comm);  ///< takes ownership, makes errors return codes
  static std::shared_ptr<Handle> duplicate(MPI_Comm comm);
};

}  // namespace dpmpi
