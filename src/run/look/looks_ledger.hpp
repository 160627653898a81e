#pragma once
// The ledger of all looks at the same people: one file, which stands with their records and not with any model.
//
//   {"ledger":1,"adjacency":"add_remove","part":"looks","people":"5f0c...","delta":1e-06,"budget":3.0}
//   {"event":"gaussian",...,"site":"test_scores",...,"look":1,"n":2000,"model":"81d2...","prev":"..."}
//
// What the looks share stands in the header, fixed before the first: the delta at which they are added up, and a
// budget, if they have one. The number of people does not: who comes to them later has a part in later looks only.
// `people` is a random name by which copies of the ledger are told from other ledgers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/files/archive.hpp"
#include "privacy/events/ledger.hpp"

namespace dpmpi {

struct LooksHeader {
  Adjacency adjacency = Adjacency::add_remove;
  Unit unit = Unit::record;
  bool seeded = false;
  double delta = 0;
  double budget = 0;   ///< epsilon of all looks together, at most; 0: it was not fixed
  std::string people;  ///< 64 hex digits

  /// Members beside those that every ledger has, as JSON text without braces.
  std::string members() const;
  void archive(Archive& archive);
  /// Of such a ledger's first line. Throws PrivacyError that begins with `place` if it is another one's.
  static LooksHeader read(const std::string& line, const std::string& place);
};

/// The number of the look of which a line is. Throws PrivacyError that begins with `place` if it says none.
std::uint64_t look_of_line(const std::string& line, const std::string& place);

/// The file, locked while this exists: one look at a time. Root only.
class LooksLedger {
 public:
  /// Opens the ledger at `path`, if there is one. Throws PrivacyError if it is none of looks, or was changed;
  /// DataError if another process has it.
  explicit LooksLedger(std::string path);

  /// What its first line says; none: there is no such file.
  const std::optional<LooksHeader>& header() const { return header_; }
  /// Starts the file. Throws DataError if somebody else has by now.
  void begin(const LooksHeader& header);
  std::uint64_t next_look() const;
  std::vector<Event> events() const;
  Ledger& file() { return *file_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<Ledger> file_;
  std::optional<LooksHeader> header_;
};

}  // namespace dpmpi
