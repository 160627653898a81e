#include "run/directory/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "core/files/durable.hpp"
#include "core/files/run_file.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

// Then a checksum (is it whole?), a MAC (is it this run's?), each of 64 digits, and the archive: the facts, the
// state.
constexpr std::string_view checkpoint_magic = "dpmpi checkpoint 5\n";
constexpr std::size_t head = checkpoint_magic.size() + 2 * sha256_digits;

std::string latest(const std::string& run) { return run + "/checkpoint/latest"; }
std::string next(const std::string& run) { return run + "/checkpoint/next"; }
std::string previous(const std::string& run) { return run + "/checkpoint/previous"; }

// A state is what a rank has in memory.
std::uint64_t memory_of_machine() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

SecretKey mac_key(const SecretKey& key) { return key.derive("checkpoint"); }

/// The archive on its way to the file. Small fields are gathered; large ones are hashed and written piece by piece
/// from where they are.
class Body final : public ByteSink {
 public:
  Body(WholeFile& file, const SecretKey& key) : file_(file), mac_(mac_key(key)) {}
  void write(std::string_view bytes) override {
    if (gathered_.size() + bytes.size() > FileReader::piece_bytes) flush();
    for (; bytes.size() > FileReader::piece_bytes; bytes.remove_prefix(FileReader::piece_bytes))
      pass_on(bytes.substr(0, FileReader::piece_bytes));
    gathered_.append(bytes);
  }
  /// Checksum and MAC of everything.
  std::string seal() {
    flush();
    return checksum_.hex() + mac_.hex();
  }

 private:
  void flush() {
    pass_on(gathered_);
    gathered_.clear();
  }
  void pass_on(std::string_view piece) {
    checksum_.update(piece);
    mac_.update(piece);
    file_.write(piece);
  }
  WholeFile& file_;
  Sha256 checksum_;
  Authenticator mac_;
  std::string gathered_;
};

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
  archive.field("trainings", c.trainings);
  archive.field("training_lines", c.training_lines);
  archive.field("training_line_hash", c.training_line_hash);
}

}  // namespace

SavedCheckpoint::SavedCheckpoint(const std::string& path, const SecretKey* key)
    : path_(path), file_(open_run_file(path)) {
  file_.refuse_larger(memory_of_machine());
  check(key);
  file_.go_to(head);
  Archive archive(*this);
  describe(archive, facts_);
}

void SavedCheckpoint::check(const SecretKey* key) {
  std::string text(std::min<std::uint64_t>(head, file_.left()), '\0');
  file_.read(text);
  if (text.size() < head || !text.starts_with(checkpoint_magic))
    throw DataError(fmt::format("{} is not a checkpoint of this version", path_));
  checksum_ = text.substr(checkpoint_magic.size(), sha256_digits);
  Sha256 checksum;
  std::optional<Authenticator> own;
  if (key) own.emplace(mac_key(*key));
  file_.drain([&](std::string_view piece) {
    checksum.update(piece);
    if (own) own->update(piece);
  });
  if (checksum.hex() != checksum_) throw DataError(fmt::format("{} is damaged: its checksum does not fit", path_));
  if (own && own->hex() != text.substr(checkpoint_magic.size() + sha256_digits))
    throw PrivacyError(fmt::format(
        "{} was written under another key than checkpoint/key: it belongs to another run or was edited. The noise "
        "of one run on the sums of another would give data away. Put back the files that belong together, or start a new run",
        path_));
}

// A second time, because the first reading kept nothing.
void SavedCheckpoint::read(std::span<char> out) {
  while (!out.empty()) {
    const auto piece = out.first(std::min(out.size(), FileReader::piece_bytes));
    file_.read(piece);
    read_so_far_->update({piece.data(), piece.size()});
    out = out.subspan(piece.size());
  }
}

void SavedCheckpoint::finish() {
  if (left() > 0) throw DataError(fmt::format("{} has {} bytes more than expected", path_, left()));
  if (read_so_far_->hex() != checksum_) throw DataError(fmt::format("{} was changed while it was read", path_));
}

void write_checkpoint(const std::string& run, const SecretKey& key, const Checkpoint& checkpoint,
                      const std::function<void(Archive&)>& state) {
  // The new one is whole and on disk before the old one gives way: at every moment one of the two can be read.
  const std::string fresh = next(run);
  WholeFile file(fresh, 0600);
  file.write(std::string(checkpoint_magic) + std::string(head - checkpoint_magic.size(), '0'));
  Body body(file, key);
  Archive archive(body);
  Checkpoint facts = checkpoint;
  describe(archive, facts);
  state(archive);
  file.write_at(checkpoint_magic.size(), body.seal());
  file.commit();
  if (fs::exists(latest(run))) rename_file(latest(run), previous(run));
  fault_point("renamed");
  rename_file(fresh, latest(run));
  sync_folder_of(latest(run));
}

SavedCheckpoint read_checkpoint(const std::string& run, const SecretKey* key) {
  std::string why;
  // `next` too: where the one before was damaged, a kill between the renames leaves no other whole one.
  for (const auto& path : {latest(run), next(run), previous(run)}) {
    try {
      return SavedCheckpoint(path, key);
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
