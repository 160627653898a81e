#pragma once
// A ledger that pays for nothing, for runs on records that nobody owns and for models that another ledger pays for;
// curators want one.

#include <string>

#include "dpmpi/privacy/ledger.hpp"

namespace dpmpi {

/// Lives in memory where the system has a folder for that, because its lines need not survive; removed at the end.
/// Local.
class ScratchLedger {
 public:
  explicit ScratchLedger(const EventHeader& header);
  ~ScratchLedger();
  ScratchLedger(const ScratchLedger&) = delete;
  ScratchLedger& operator=(const ScratchLedger&) = delete;
  Ledger& get() { return ledger_; }

 private:
  std::string path_;
  Ledger ledger_;
};

}  // namespace dpmpi
