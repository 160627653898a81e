#pragma once
// The privacy ledger: an append-only file of JSON lines, hash-chained, on disk before the noise it pays for is
// used.
//
//   {"ledger":1,"adjacency":"add_remove","n":60000}
//   {"event":"gaussian","noise_multiplier":2,"count":1,"step":0,"prev":"<SHA-256 of the line above>"}
//
// Only the root has a ledger. Its bytes depend on nothing but the header and the events (no time, no host). It is
// never rewound. The chain shows any changed, removed or inserted line; a cut at the end is shown by lines() and
// head(), which a checkpoint stores.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files/durable.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// One line to append: an event with further members as JSON text, e.g. `"steps":[0,99],"site":2` (see to_json).
struct LedgerEntry {
  Event event;
  std::string extra;
};

/// An open ledger. Not copyable; one process at a time (the file is locked).
class Ledger {
 public:
  /// Starts a new file at `path`; header and directory entry are on disk on return. `extra`: further members of the
  /// header. Throws DataError if the file exists or cannot be written.
  static Ledger create(const std::string& path, const EventHeader& header, const std::string& extra = {});

  /// A ledger without a file, which pays for nothing: for runs on records that nobody owns, because curators want
  /// one.
  static Ledger in_memory(const EventHeader& header);

  /// Opens an existing ledger to go on. Bytes after the last newline are a write that was interrupted before
  /// append() returned, so nothing was released under them: they do not count,
  /// and cut() or the next append() removes them (not before the caller has seen that the file is the right one).
  /// Throws PrivacyError with the first bad line if the chain or an event is broken, DataError if the file cannot
  /// be read or is in use by another process.
  static Ledger open(const std::string& path);

  Ledger(Ledger&& other) noexcept;
  Ledger& operator=(Ledger&&) = delete;
  ~Ledger();

  /// Removes what an interrupted write left at the end, durably. Does nothing a second time.
  void cut();

  /// Writes all entries in one write and waits until they are on disk. Release nothing under them before it
  /// returns. After a failure (DataError: disk full, ...) the ledger takes no further entries; open() it again.
  /// Throws PrivacyError, and writes nothing, if an event is out of range.
  void append(std::span<const LedgerEntry> entries);

  /// Throws DataError if the file at the path is no longer the one that is written to.
  void check_in_place() const { file_.check_in_place(); }

  const EventHeader& header() const { return header_; }
  /// All lines so far as they are in the file (header first, without newlines).
  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<Event>& events() const { return events_; }
  const std::string& head() const { return head_; }  ///< SHA-256 of the last line, 64 hex digits
  /// The file's number in its file system: the file is only ever appended to, so a copy or a restored one differs.
  std::uint64_t inode() const { return file_.inode(); }

 private:
  Ledger(std::string path, DurableFile file);
  void begin(const EventHeader& header, std::string line);
  void write(const std::string& text);

  std::string path_;
  DurableFile file_;
  EventHeader header_;
  std::vector<std::string> lines_;
  std::vector<Event> events_;
  std::string head_;
  std::uint64_t size_ = 0;
  std::uint64_t uncut_ = 0;  // bytes of an interrupted write at the end of the file
  bool broken_ = false;
};

/// A ledger or any other list of events.
struct EventList {
  std::optional<EventHeader> header;
  std::vector<Event> events;
};
/// Reads JSON lines; blank lines are skipped, a header may stand on the first line only. If the lines are chained,
/// the chain is checked. Throws PrivacyError whose message begins with `file` and the line number, DataError if
/// reading fails.
EventList read_events(std::istream& in, const std::string& file);

/// What a check of a ledger file found.
struct LedgerCheck {
  std::uint64_t lines = 0;     ///< good lines from the start, header included
  std::uint64_t bad_line = 0;  ///< number of the first bad line, 0 if all are good
  std::string problem;         ///< what is wrong with it
  std::string head;            ///< SHA-256 of the last good line
};
/// Checks header, chain and events without changing the file. Throws DataError if it cannot be read.
LedgerCheck verify_ledger(const std::string& path);

}  // namespace dpmpi
