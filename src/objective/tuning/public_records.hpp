#pragma once
// A public dataset that every rank holds as a whole, in double: what models are trained on whose losses on private
// records are asked for.

#include <cstddef>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/aligned.hpp"
#include "data/load/data_files.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

struct PublicSet {
  std::size_t count = 0, features = 0;
  std::size_t stride = 0;   ///< count, rounded up to a multiple of 8
  AlignedVector<double> x;  ///< features x stride: feature j of record i is x[j * stride + i]; 0 where i >= count
  AlignedVector<double> y;  ///< stride labels; 0 where i >= count

  static double bytes(std::size_t count, std::size_t features);

  /// The records that count, of one block.
  explicit PublicSet(const Records& records);
};

/// Reads files.models, which option `key` names `name`, by the rules of data.eval; the constant column is left out.
/// Collective: every rank reads it, or all throw the first error. Errors as for load(), and DataError unless it has
/// `features` features and at least one record.
PublicSet read_public_set(const Communicator& comm, const DataFiles& files, const std::string& key,
                          const std::string& name, std::size_t features, LabelKind kind);

}  // namespace dpmpi
