#pragma once
// What is wrong in a file that is read to its end all the same: of every kind of fault (in a table: of every
// column) the first. So somebody who mends a file sees all that there is to mend.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/files/archive.hpp"

namespace dpmpi {

class Faults {
 public:
  /// The parts of a dataset (the sites' files, labels that lie apart) are read one after the other.
  void begin_part(std::uint64_t part) { part_ = part; }
  /// Whether a fault of this kind, here or farther on in the part that is read, would be no news.
  bool knows(std::uint64_t kind) const { return full() || first_.contains({part_, kind}); }
  /// `at`: line or record; of a part they ascend. `message` names file and place.
  void add(std::uint64_t at, std::uint64_t kind, const std::string& message);
  bool empty() const { return first_.empty(); }
  /// Those that another rank has found, in other places of the same dataset.
  void merge(Faults others);
  /// In the order of the file; not all of them if they are very many.
  std::string text() const;
  /// Throws DataError if there are any. Local.
  void refuse() const;
  void archive(Archive& archive);

 private:
  static constexpr std::size_t most = 100;  // that are told; one more is kept, to know that there are more
  struct Fault {
    std::uint64_t at = 0;
    std::string message;
  };
  // Of ranks that each keep what comes first on their own way, the first of all are kept by one of them.
  bool full() const { return first_.size() > most; }

  std::uint64_t part_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Fault> first_;  // by part and kind
};

}  // namespace dpmpi
