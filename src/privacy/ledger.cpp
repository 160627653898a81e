#include "dpmpi/privacy/ledger.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/errors.hpp"

namespace dpmpi {

namespace {

// What the lines read so far amount to. The same reader serves ledgers, whose lines must be chained, and event
// lists, whose lines may be.
class ChainReader {
 public:
  ChainReader(std::string file, bool ledger) : file_(std::move(file)), ledger_(ledger) {}

  /// Takes the next line; throws PrivacyError, and stays as it was, if it does not continue the file.
  void take(std::string_view line) {
    const std::string where = fmt::format("{}:{}", file_, lines_ + 1);
    if (!ledger_ && line.find_first_not_of(" \t\r") == line.npos) {
      if (chained_) throw PrivacyError(where + ": blank line in a hash-chained file");
      ++lines_;
      return;
    }
    const EventLine parsed = parse_event_line(line, where);
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
  bool ledger_, chained_ = false, undecided_ = false;
  std::uint64_t lines_ = 0;
};

[[noreturn]] void fail(const std::string& path, const char* doing, int error) {
  throw DataError(fmt::format("ledger {}: {}: {}", path, doing, std::strerror(error)));
}

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "cannot read", errno);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) fail(path, "cannot read", errno);
  return bytes;
}

// Calls take(line) for every line that has its newline; returns the number of bytes they fill.
template <class Take>
std::size_t for_each_line(const std::string& bytes, Take take) {
  std::size_t begin = 0;
  for (std::size_t end; (end = bytes.find('\n', begin)) != bytes.npos; begin = end + 1)
    take(std::string_view(bytes).substr(begin, end - begin));
  return begin;
}

int open_locked(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_RDWR | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) fail(path, "cannot open", errno);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {  // other errors: a file system without locks
    ::close(file);
    throw DataError(fmt::format("ledger {}: another process is writing to it", path));
  }
  return file;
}

void sync_directory_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail(path, "cannot open its directory", errno);
  const int result = ::fsync(file), error = errno;
  ::close(file);
  if (result != 0 && error != EINVAL)
    fail(path, "cannot sync its directory", error);  // EINVAL: not supported there
}

}  // namespace

Ledger::Ledger(std::string path, int file) : path_(std::move(path)), file_(file) {}

Ledger::Ledger(Ledger&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      header_(other.header_),
      lines_(std::move(other.lines_)),
      events_(std::move(other.events_)),
      head_(std::move(other.head_)),
      size_(other.size_),
      cut_(other.cut_),
      broken_(other.broken_) {}

Ledger::~Ledger() {
  if (file_ >= 0) ::close(file_);
}

Ledger Ledger::create(const std::string& path, const EventHeader& header, const std::string& extra) {
  std::string line = fmt::format("{{\"ledger\":1,\"adjacency\":\"{}\"", name(header.adjacency));
  if (header.n) line += fmt::format(",\"n\":{}", *header.n);
  if (header.seeded) line += ",\"seeded\":true";
  line += (extra.empty() ? "" : "," + extra) + "}";
  ChainReader reader(path, true);
  reader.take(line);  // what cannot be read back is not written

  Ledger ledger(path, open_locked(path, O_CREAT | O_EXCL));
  ledger.write(line + "\n");
  sync_directory_of(path);
  ledger.header_ = header;
  ledger.lines_.push_back(std::move(line));
  ledger.head_ = reader.head;
  return ledger;
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
  ledger.cut_ = bytes.size() - complete;
  if (ledger.cut_ > 0 &&
      (::ftruncate(ledger.file_, static_cast<off_t>(complete)) != 0 || ::fsync(ledger.file_) != 0))
    fail(path, "cannot cut off an interrupted write", errno);
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

// One write, then fdatasync. After any failure what reached the disk is unknown (a failed sync must not be tried
// again), so the ledger stays closed for entries.
void Ledger::write(const std::string& text) {
  if (broken_) throw DataError(fmt::format("ledger {}: an earlier write failed; open it again", path_));
  broken_ = true;
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail(path_, "cannot stat", errno);
  if (static_cast<std::uint64_t>(status.st_size) != size_)
    throw DataError(fmt::format("ledger {}: has {} bytes instead of {}: somebody else wrote to it", path_,
                                status.st_size, size_));
  ssize_t written = 0;
  do written = ::write(file_, text.data(), text.size());
  while (written < 0 && errno == EINTR);
  if (written < 0) fail(path_, "cannot write", errno);
  if (static_cast<std::size_t>(written) != text.size())
    throw DataError(fmt::format("ledger {}: wrote {} of {} bytes (disk full?)", path_, written, text.size()));
  if (::fdatasync(file_) != 0) fail(path_, "cannot sync to disk", errno);
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
