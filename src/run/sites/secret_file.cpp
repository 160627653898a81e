#include "run/sites/secret_file.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "core/secrecy.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {
namespace {

constexpr std::string_view secret_magic = "dpmpi site key 1\n";
constexpr std::size_t secret_size = 32;

}  // namespace

void write_secret(const std::string& path, const SecretKey& key) {
  if (std::filesystem::exists(std::filesystem::symlink_status(path)))
    throw ConfigError(fmt::format("{} is there: a key is not written over another", path));
  std::string text;
  text.reserve(secret_magic.size() + secret_size);  // growing would leave a copy behind
  text.append(secret_magic).append(reinterpret_cast<const char*>(key.bytes().data()), secret_size);
  write_file(path, text, 0600);
  wipe(text);
}

SecretKey read_secret(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    throw PrivacyError(fmt::format(
        "{} may be read by others (mode {:04o}): whoever has read it can take off the masks of this key. If nobody "
        "has, 'chmod 600 {}' and go on; otherwise begin again with new keys",
        path, static_cast<unsigned>(status.st_mode & 07777), path));
  std::string text = read_file(path, file_limit::document);
  if (text.size() != secret_magic.size() + secret_size || !text.starts_with(secret_magic))
    throw DataError(fmt::format("{} is not a key of dpmpi site join or dpmpi round open", path));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data() + secret_magic.size());
  SecretKey key = SecretKey::from_bytes(std::span<const std::uint8_t, secret_size>(bytes, secret_size));
  wipe(text);
  return key;
}

void check_output(const std::string& output, const std::string& key, const std::vector<std::string>& others) {
  const auto place = [](const std::string& path) {
    std::error_code unknown;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), unknown);
  };
  std::vector<std::string> kept{key};
  kept.insert(kept.end(), others.begin(), others.end());
  for (const std::string& path : kept)
    if (place(path) == place(output))
      throw ConfigError(fmt::format("--output {} is {}: choose another file", output, path));
  std::string begin(secret_magic.size(), '\0');
  if (std::ifstream(output, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size())) &&
      begin == secret_magic)
    throw ConfigError(fmt::format("--output {} is a secret key: choose another file", output));
}

void wipe_secret(const std::string& path) {
  if (!std::filesystem::exists(path)) return;
  DurableFile file(path, O_WRONLY, 0);  // in place: a new file would leave the old blocks as they are
  file.write_at(0, std::string(secret_magic.size() + secret_size, '\0'));
  file.sync();
  std::filesystem::remove(path);
}

}  // namespace dpmpi
