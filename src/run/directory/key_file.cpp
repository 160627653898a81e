#include "run/directory/key_file.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "core/files/durable.hpp"
#include "core/secrecy.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {
namespace {

// The key, then 64 digits each: digest of the config, commitment to the data, MAC of the two.
constexpr std::string_view key_magic = "dpmpi key 1\n";
constexpr std::size_t key_size = 32, file_size = key_magic.size() + key_size + 3 * sha256_digits;

std::string path_in(const std::string& run) { return run + "/checkpoint/key"; }

std::string binding(const KeyRecord& record) {
  return record.key.derive("key file").authenticate(record.config_digest + record.commitment);
}

// What keeps a file from being one that this user wrote for himself alone; "" if nothing does.
std::string flaw(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  if (status.st_uid != ::geteuid()) return fmt::format("belongs to user {}", status.st_uid);
  if ((status.st_mode & 077) != 0)
    return fmt::format("may be used by others (mode {:04o})", status.st_mode & 07777);
  if (status.st_nlink > 1) return fmt::format("has {} names (hard links)", status.st_nlink);
  return "";
}

void refuse_shared(const std::string& run, const struct stat& status) {
  const std::string path = path_in(run);
  if (!S_ISREG(status.st_mode)) throw DataError(fmt::format("{} is not a regular file", path));
  if ((status.st_mode & 077) != 0)
    throw PrivacyError(fmt::format(
        "{} may be read by others (mode {:04o}): whoever has read it can remove the noise of this run. If nobody "
        "has, 'chmod 600 {}' and go on; otherwise start a new run with a fresh key",
        path, status.st_mode & 07777, path));
  if (status.st_nlink > 1)
    throw PrivacyError(fmt::format(
        "{} has {} names (hard links): a copy of this run directory has the same files (cp -al, a snapshot), and "
        "what this run writes and wipes would be written and wiped there too. Remove the copy; or, if it is to "
        "stay, 'cp -a {} NEW', then 'dpmpi resume NEW --set run.moved=true'",
        path, status.st_nlink, run));
}

KeyRecord parse(std::string_view text, const std::string& path) {
  if (text.size() != file_size || !text.starts_with(key_magic))
    throw DataError(fmt::format("{} is damaged or not of this version: without its key a run cannot go on", path));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data() + key_magic.size());
  KeyRecord record{SecretKey::from_bytes(std::span<const std::uint8_t, key_size>(bytes, key_size)),
                   std::string(text.substr(key_magic.size() + key_size, sha256_digits)),
                   std::string(text.substr(key_magic.size() + key_size + sha256_digits, sha256_digits))};
  if (binding(record) != text.substr(key_magic.size() + key_size + 2 * sha256_digits))
    throw PrivacyError(fmt::format(
        "{} was edited: the key and the config and data that it is bound to do not belong together. Put back the "
        "file that the run began with, or start a new run",
        path));
  return record;
}

// The last name of the file takes the key with it: zeros would also be what another name leads to.
void wipe_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode)) {
    if (status.st_nlink > 1) {
      warn(
          "{} is removed but not overwritten: it has {} names (hard links), so a copy of this run directory holds "
          "the key of this run. Whoever reads it there can remove the noise: end that run too, or 'shred -u' its checkpoint/key",
          path, status.st_nlink);
    } else {
      DurableFile file(path, O_WRONLY, 0);  // in place: a new file would leave the old blocks as they are
      file.write_at(0, std::string(file_size, '\0'));
      file.sync();
    }
  }
  std::filesystem::remove(path);
}

}  // namespace

void refuse_prepared_key(const std::string& run) {
  const std::string path = path_in(run) + ".new";
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (const std::string what = flaw(status); !what.empty())
    throw PrivacyError(fmt::format(
        "{} is there and {}: the key of the run would be written under this name, and this file was not left by a "
        "run of yours. Find out who put it there, remove it, and start again",
        path, what));
}

void write_key(const std::string& run, const KeyRecord& record) {
  verify(record.config_digest.size() == sha256_digits && record.commitment.size() == sha256_digits,
         "a key is bound to digests");
  std::string text;
  text.reserve(file_size);  // no second copy of the key is left behind by growing
  text.append(key_magic).append(reinterpret_cast<const char*>(record.key.bytes().data()), key_size);
  text.append(record.config_digest).append(record.commitment).append(binding(record));
  write_file(path_in(run), text, 0600);
  wipe(text);
}

KeyRecord read_key(const std::string& run) {
  const std::string path = path_in(run);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) refuse_shared(run, status);
  std::string text = read_file(path);
  KeyRecord record = parse(text, path);
  wipe(text);
  return record;
}

void wipe_key(const std::string& run) {
  fault_point("wipe");
  try {
    wipe_file(path_in(run));
    wipe_file(path_in(run) + ".new");
  } catch (const std::exception& e) {
    throw DataError(fmt::format("the noise key could not be wiped: {}. Remove {} by hand", e.what(), path_in(run)));
  }
}

}  // namespace dpmpi
