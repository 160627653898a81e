#include "dpmpi/run/checkpoint.hpp"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "dpmpi/core/archive.hpp"
#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/durable.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/fault.hpp"
#include "dpmpi/run/files.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

// Then a checksum (is it whole?), a MAC (is it this run's?), each of 64 digits, and the archive.
constexpr std::string_view magic = "dpmpi checkpoint 3\n";
constexpr std::size_t digits = 64, head = magic.size() + 2 * digits;

std::string latest(const std::string& run) { return run + "/checkpoint/latest"; }
std::string next(const std::string& run) { return run + "/checkpoint/next"; }
std::string previous(const std::string& run) { return run + "/checkpoint/previous"; }

std::string mac(const SecretKey& key, const std::string& body) {
  return key.derive("checkpoint").authenticate(body);
}

void describe(Archive& archive, Checkpoint& c) {
  archive.field("step", c.step);
  archive.field("config", c.config);
  archive.field("commitment", c.commitment);
  archive.field("program", c.program);
  archive.field("program_text", c.program_text);
  archive.field("ledger_lines", c.ledger_lines);
  archive.field("ledger_line_hash", c.ledger_line_hash);
  archive.field("ledger_inode", c.ledger_inode);
  archive.field("metrics_bytes", c.metrics_bytes);
  archive.field("timing_bytes", c.timing_bytes);
  archive.field("method_state", c.method_state);
  archive.field("curator_state", c.curator_state);
}

Checkpoint parse(const std::string& path, const SecretKey* key) {
  const std::string text = read_file(path);
  if (text.size() < head || !text.starts_with(magic))
    throw DataError(fmt::format("{} is not a checkpoint of this version", path));
  const std::string body = text.substr(head);
  if (sha256(body) != text.substr(magic.size(), digits))
    throw DataError(fmt::format("{} is damaged: its checksum does not fit", path));
  if (key && mac(*key, body) != text.substr(magic.size() + digits, digits))
    throw PrivacyError(fmt::format(
        "{} was written under another key than checkpoint/key: it belongs to another run or was edited. The noise "
        "of "
        "one run on the sums of another would give data away. Put back the files that belong together, or start a "
        "new run",
        path));
  Archive archive(body);
  Checkpoint c;
  describe(archive, c);
  archive.finish();
  return c;
}

}  // namespace

void write_checkpoint(const std::string& run, const SecretKey& key, const Checkpoint& checkpoint) {
  Archive archive;
  Checkpoint copy = checkpoint;
  describe(archive, copy);
  const std::string& body = archive.bytes();
  // The new one is whole and on disk before the old one gives way: at every moment one of the two can be read.
  const std::string fresh = next(run);
  write_file(fresh, fmt::format("{}{}{}{}", magic, sha256(body), mac(key, body), body), 0600);
  if (fs::exists(latest(run))) rename_file(latest(run), previous(run));
  fault_point("renamed");
  rename_file(fresh, latest(run));
  sync_folder_of(latest(run));
}

Checkpoint read_checkpoint(const std::string& run, const SecretKey* key) {
  std::string why;
  // `next` too: where the one before was damaged, a kill between the renames leaves no other whole one.
  for (const auto& path : {latest(run), next(run), previous(run)}) {
    try {
      return parse(path, key);
    } catch (const DataError& e) {
      why += fmt::format("{}{}", why.empty() ? "" : "; ", e.what());
    }
  }
  throw DataError(fmt::format("no checkpoint to go on from in {}: {}", run, why));
}

bool has_checkpoint(const std::string& run) { return fs::exists(latest(run)) || fs::exists(previous(run)); }

void remove_checkpoints(const std::string& run) {
  for (const char* name : {"next.new", "next", "previous", "latest"}) fs::remove(run + "/checkpoint/" + name);
}

}  // namespace dpmpi
