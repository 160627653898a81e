#pragma once
// What objectives need of files and ranks, of which they know nothing.

#include <string>

#include "comm/communicator.hpp"
#include "data/load/data_files.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// SHA-256 of the dataset's files, separated by commas: how a certificate says on which public records models were
/// trained. Empty if it has none. Local.
std::string digests_of(const Dataset& dataset);

/// Gives an objective that trains models on public records those of files.models, read by the rules of data.eval
/// without the constant column; its trainings are shared among the ranks of `comm`, which must outlive it. Others
/// need nothing. Collective, once, before losses are asked for: every rank reads the file, or all throw the first
/// error, or CommError if they read different files. Errors as for load() and PublicTraining::take(), and DataError
/// unless the file has the features of PublicFile and at least one record.
void give_public_records(const Communicator& comm, Objective& objective, const DataFiles& files);

/// Totals of the record set that the ranks of `comm` hold together. Its functions are collective.
class TotalsOfRanks final : public SetTotals {
 public:
  explicit TotalsOfRanks(const Communicator& comm) : comm_(comm) {}  ///< `comm` must outlive it
  void sum(std::span<std::int64_t> values) const override { comm_.sum(values); }
  double largest(double mine) const override;

 private:
  const Communicator& comm_;
};

}  // namespace dpmpi
