#include "dpmpi/run/key_file.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "dpmpi/core/durable.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/fault.hpp"
#include "dpmpi/run/files.hpp"

namespace dpmpi {
namespace {

// The key, then 64 digits each: digest of the config, commitment to the data, MAC of the two.
constexpr std::string_view magic = "dpmpi key 1\n";
constexpr std::size_t key_size = 32, digits = 64, file_size = magic.size() + key_size + 3 * digits;

std::string path_in(const std::string& run) { return run + "/checkpoint/key"; }

std::string binding(const KeyRecord& record) {
  return record.key.derive("key file").authenticate(record.config_digest + record.commitment);
}

void wipe(const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  DurableFile file(path, O_WRONLY, 0);  // in place: a new file would leave the old blocks as they are
  file.write_at(0, std::string(file_size, '\0'));
  file.sync();
  std::filesystem::remove(path);
}

}  // namespace

void write_key(const std::string& run, const KeyRecord& record) {
  verify(record.config_digest.size() == digits && record.commitment.size() == digits, "a key is bound to digests");
  std::string text(magic);
  text.append(reinterpret_cast<const char*>(record.key.bytes().data()), key_size);
  write_file(path_in(run), text + record.config_digest + record.commitment + binding(record), 0600);
}

KeyRecord read_key(const std::string& run) {
  const std::string path = path_in(run);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    throw PrivacyError(fmt::format(
        "{} may be read by others (mode {:04o}): whoever has read it can remove the noise of this run. If nobody "
        "has, 'chmod 600 {}' and go on; otherwise start a new run with a fresh key",
        path, status.st_mode & 07777, path));
  const std::string text = read_file(path);
  if (text.size() != file_size || !text.starts_with(magic))
    throw DataError(fmt::format("{} is damaged or not of this version: without its key a run cannot go on", path));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data() + magic.size());
  KeyRecord record{SecretKey::from_bytes(std::span<const std::uint8_t, key_size>(bytes, key_size)),
                   text.substr(magic.size() + key_size, digits),
                   text.substr(magic.size() + key_size + digits, digits)};
  if (binding(record) != text.substr(magic.size() + key_size + 2 * digits))
    throw PrivacyError(fmt::format(
        "{} was edited: the key and the config and data that it is bound to do not belong together. Put back the "
        "file that the run began with, or start a new run",
        path));
  return record;
}

void wipe_key(const std::string& run) {
  fault_point("wipe");
  try {
    wipe(path_in(run));
    wipe(path_in(run) + ".new");
  } catch (const std::exception& e) {
    throw DataError(fmt::format("the noise key could not be wiped: {}. Remove {} by hand", e.what(), path_in(run)));
  }
}

}  // namespace dpmpi
