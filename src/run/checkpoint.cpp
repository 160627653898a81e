#include "dpmpi/run/checkpoint.hpp"

#include <array>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "dpmpi/core/archive.hpp"
#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/run/files.hpp"

namespace dpmpi {
namespace {

constexpr std::string_view magic = "dpmpi checkpoint 1\n";
constexpr std::size_t digest_size = 64;

std::string latest(const std::string& run) { return run + "/checkpoint/latest"; }
std::string previous(const std::string& run) { return run + "/checkpoint/previous"; }
std::string key_path(const std::string& run) { return run + "/checkpoint/key"; }

void describe(Archive& archive, Checkpoint& c) {
  archive.field("step", c.step);
  archive.field("config_digest", c.config_digest);
  archive.field("commitment", c.commitment);
  archive.field("program", c.program);
  archive.field("ledger_lines", c.ledger_lines);
  archive.field("ledger_line_hash", c.ledger_line_hash);
  archive.field("metrics_bytes", c.metrics_bytes);
  archive.field("method_state", c.method_state);
}

Checkpoint parse(const std::string& path) {
  const std::string text = read_file(path);
  if (text.size() < magic.size() + digest_size || !text.starts_with(magic))
    throw DataError(fmt::format("{} is not a checkpoint of this version", path));
  const std::string body = text.substr(magic.size() + digest_size);
  if (sha256(body) != text.substr(magic.size(), digest_size))
    throw DataError(fmt::format("{} is damaged: its checksum does not fit", path));
  Archive archive(body);
  Checkpoint c;
  describe(archive, c);
  archive.finish();
  return c;
}

}  // namespace

void write_checkpoint(const std::string& run, const Checkpoint& checkpoint) {
  Archive archive;
  Checkpoint copy = checkpoint;
  describe(archive, copy);
  std::error_code ignored;
  std::filesystem::rename(latest(run), previous(run), ignored);  // absent the first time
  write_file(latest(run), fmt::format("{}{}{}", magic, sha256(archive.bytes()), archive.bytes()), 0600);
}

Checkpoint read_checkpoint(const std::string& run) {
  std::string why;
  for (const auto& path : {latest(run), previous(run)}) {
    try {
      return parse(path);
    } catch (const DataError& e) {
      why += fmt::format("{}{}", why.empty() ? "" : "; ", e.what());
    }
  }
  throw DataError(fmt::format("no checkpoint to go on from in {}: {}", run, why));
}

void write_key(const std::string& run, const SecretKey& key) {
  const auto bytes = key.bytes();
  write_file(key_path(run), std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), 0600);
}

SecretKey read_key(const std::string& run) {
  const std::string text = read_file(key_path(run));
  if (text.size() != 32) throw DataError(fmt::format("{} is not a key", key_path(run)));
  return SecretKey::from_bytes(
      std::span<const std::uint8_t, 32>(reinterpret_cast<const std::uint8_t*>(text.data()), 32));
}

void wipe_key(const std::string& run) {
  const std::string path = key_path(run);
  const int file = ::open(path.c_str(), O_WRONLY);  // in place: a new file would leave the old blocks as they are
  if (file < 0) return;
  const std::array<char, 32> zeros{};
  const bool wiped = ::pwrite(file, zeros.data(), zeros.size(), 0) == 32 && ::fsync(file) == 0;
  ::close(file);
  if (!wiped) throw DataError(fmt::format("cannot overwrite {}: remove it by hand", path));
  std::filesystem::remove(path);
}

}  // namespace dpmpi
