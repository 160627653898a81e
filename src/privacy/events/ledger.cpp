#include "privacy/events/ledger.hpp"

#include <istream>
#include <utility>

#include <fcntl.h>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "privacy/events/reader.hpp"

namespace dpmpi {

namespace {

// What the lines read so far amount to. The same reader serves ledgers, whose lines must be chained, and event
// lists, whose lines may be.
class ChainReader {
 public:
  ChainReader(std::string file, bool ledger) : file_(std::move(file)), ledger_(ledger) {}

  /// Takes the next line; throws PrivacyError, and stays as it was, if it does not continue the file.
  void take(std::string_view line) {
    if (!ledger_ && !chained_ && line.find_first_not_of(" \t\r") == line.npos) {
      ++lines_;
      return;
    }
    const std::string where = fmt::format("{}:{}", file_, lines_ + 1);
    if (!ledger_ && line.find_first_not_of(" \t\r") == line.npos)
      throw PrivacyError(where + ": blank line in a hash-chained file");
    const EventLine parsed = reader_.read(line, where);
    const bool is_header = std::holds_alternative<EventHeader>(parsed.content), is_first = head.empty();
    if (is_header && !is_first) throw PrivacyError(where + ": a header may stand on the first line only");
    if (!is_header && is_first && ledger_) throw PrivacyError(where + ": a ledger begins with its header");
    if (is_first)
      undecided_ = !(chained_ = ledger_);
    else
      check_link(parsed.prev, where);

    if (is_header)
      header = std::get<EventHeader>(parsed.content);
    else
      events.push_back(std::get<Event>(parsed.content));
    head = sha256(line);
    ++lines_;
  }

  std::uint64_t lines() const { return lines_; }

  std::optional<EventHeader> header;
  std::vector<Event> events;
  std::string head;

 private:
  void check_link(const std::optional<std::string>& prev, const std::string& where) {
    if (std::exchange(undecided_, false)) chained_ = prev.has_value();
    if (!chained_ && prev) throw PrivacyError(where + ": hash chain broken: lines above are not chained");
    if (!chained_) return;
    if (!prev) throw PrivacyError(where + ": hash chain broken: \"prev\" is missing");
    if (*prev != head)
      throw PrivacyError(
          fmt::format("{}: hash chain broken: \"prev\" is {}, but the line above has SHA-256 {}. A line "
                      "was changed, removed or inserted",
                      where, prev->substr(0, 64), head));
  }

  std::string file_;
  EventReader reader_;
  bool ledger_, chained_ = false, undecided_ = false;
  std::uint64_t lines_ = 0;
};

std::string read_all(const std::string& path) {
  return read_run_file(path, file_limit::lines, fmt::format("ledger {}", path));
}

// Calls take(line) for every line that has its newline; returns the number of bytes they fill.
template <class Take>
std::size_t for_each_line(const std::string& bytes, Take take) {
  std::size_t begin = 0;
  for (std::size_t end; (end = bytes.find('\n', begin)) != bytes.npos; begin = end + 1)
    take(std::string_view(bytes).substr(begin, end - begin));
  return begin;
}

std::string header_line(const EventHeader& header, const std::string& extra) {
  std::string line = fmt::format("{{\"ledger\":1,\"adjacency\":\"{}\"", name(header.adjacency));
  if (header.n) line += fmt::format(",\"n\":{}", *header.n);
  if (header.seeded) line += ",\"seeded\":true";
  if (header.unit == Unit::person) line += fmt::format(",\"unit\":\"{}\"", name(header.unit));
  return line + (extra.empty() ? "" : "," + extra) + "}";
}

DurableFile open_locked(const std::string& path, int flags) {
  DurableFile file(path, flags | O_RDWR | O_APPEND, 0644, "ledger ");
  bool unsupported = false;
  if (!file.lock(unsupported)) throw DataError(fmt::format("ledger {}: another process is writing to it", path));
  return file;
}

}  // namespace

Ledger::Ledger(std::string path, DurableFile file) : path_(std::move(path)), file_(std::move(file)) {}

Ledger::Ledger(Ledger&& other) noexcept = default;

Ledger::~Ledger() = default;

Ledger Ledger::create(const std::string& path, const EventHeader& header, const std::string& extra) {
  std::string line = header_line(header, extra);
  ChainReader(path, true).take(line);  // what cannot be read back is not written
  Ledger ledger(path, open_locked(path, O_CREAT | O_EXCL));
  ledger.begin(header, std::move(line));
  sync_folder_of(path);
  return ledger;
}

Ledger Ledger::in_memory(const EventHeader& header) {
  DurableFile file = DurableFile::in_memory("ledger ");
  const std::string path = file.path();
  Ledger ledger(path, std::move(file));
  ledger.begin(header, header_line(header, {}));
  return ledger;
}

void Ledger::begin(const EventHeader& header, std::string line) {
  write(line + "\n");
  header_ = header;
  head_ = sha256(line);
  lines_.push_back(std::move(line));
}

Ledger Ledger::open(const std::string& path) {
  Ledger ledger(path, open_locked(path, 0));
  const std::string bytes = read_all(path);
  ChainReader reader(path, true);
  const std::size_t complete = for_each_line(bytes, [&](std::string_view line) {
    reader.take(line);
    ledger.lines_.emplace_back(line);
  });
  if (reader.lines() == 0) throw PrivacyError(fmt::format("{}:1: a ledger begins with its header", path));
  ledger.uncut_ = bytes.size() - complete;
  ledger.size_ = complete;
  ledger.header_ = *reader.header;
  ledger.events_ = std::move(reader.events);
  ledger.head_ = reader.head;
  return ledger;
}

void Ledger::append(std::span<const LedgerEntry> entries) {
  std::vector<std::string> lines;
  std::string text, head = head_;
  for (const LedgerEntry& entry : entries) {
    const std::string where = fmt::format("{}:{}", path_, lines_.size() + lines.size() + 1);
    check(entry.event, where);
    const std::string link = fmt::format("\"prev\":\"{}\"", head);
    std::string line = to_json(entry.event, entry.extra.empty() ? link : entry.extra + "," + link);
    const EventLine back = parse_event_line(line, where);
    verify(std::get<Event>(back.content) == entry.event && back.prev == head && line.find('\n') == line.npos,
           "a ledger line reads back as it was written");
    head = sha256(line);
    text += line + "\n";
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return;
  write(text);
  head_ = std::move(head);
  for (auto& line : lines) lines_.push_back(std::move(line));
  for (const LedgerEntry& entry : entries) events_.push_back(entry.event);
}

void Ledger::cut() {
  if (uncut_ == 0) return;
  if (file_.size() != size_ + uncut_)
    throw DataError(fmt::format("ledger {}: changed since it was opened: somebody else wrote to it", path_));
  file_.truncate(size_);
  file_.sync();
  uncut_ = 0;
}

// One write, then one sync. After any failure what reached the disk is unknown (a failed sync must not be tried
// again), so the ledger stays closed for entries.
void Ledger::write(const std::string& text) {
  if (broken_) throw DataError(fmt::format("ledger {}: an earlier write failed; open it again", path_));
  broken_ = true;
  cut();
  if (file_.size() != size_)
    throw DataError(fmt::format("ledger {}: has {} bytes instead of {}: somebody else wrote to it", path_,
                                file_.size(), size_));
  check_in_place();
  file_.write(text);
  file_.sync();
  size_ += text.size();
  broken_ = false;
}

EventList read_events(std::istream& in, const std::string& file) {
  ChainReader reader(file, false);
  for (std::string line; std::getline(in, line);) reader.take(line);
  if (in.bad()) throw DataError(file + ": cannot read");
  return {reader.header, std::move(reader.events)};
}

LedgerCheck verify_ledger(const std::string& path) {
  const std::string bytes = read_all(path);
  ChainReader reader(path, true);
  LedgerCheck found;
  try {
    const std::size_t complete = for_each_line(bytes, [&](std::string_view line) { reader.take(line); });
    if (complete != bytes.size())
      throw PrivacyError(fmt::format("{}:{}: no newline at its end (interrupted write)", path, reader.lines() + 1));
    if (reader.lines() == 0) throw PrivacyError(path + ":1: a ledger begins with its header");
  } catch (const PrivacyError& e) {
    found.bad_line = reader.lines() + 1;
    found.problem = e.what();
  }
  found.lines = reader.lines();
  found.head = reader.head;
  return found;
}

}  // namespace dpmpi
