#include "dpmpi/run/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw DataError(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_folder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (file < 0) fail(folder, "open");
  const int result = ::fsync(file);
  ::close(file);
  if (result != 0) fail(folder, "sync");
}

}  // namespace

void write_file(const std::string& path, std::string_view text, int permissions) {
  const std::string temporary = path + ".new";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, permissions);
  if (file < 0) fail(temporary, "create");
  try {
    write_all(file, text, temporary);
    if (::fsync(file) != 0) fail(temporary, "sync");
  } catch (...) {
    ::close(file);
    throw;
  }
  if (::close(file) != 0) fail(temporary, "close");
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "rename to");
  sync_folder(path);
}

std::string read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) fail(path, "read");
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      ::close(file);
      fail(path, "read");
    }
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

LineFile::LineFile(const std::string& path, std::uint64_t offset, int permissions) : path_(path), size_(offset) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, permissions);
  if (file_ < 0) fail(path, "open");
  if (::ftruncate(file_, static_cast<off_t>(offset)) != 0) fail(path, "truncate");
}
LineFile::~LineFile() {
  if (file_ >= 0) ::close(file_);
}
LineFile::LineFile(LineFile&& other) noexcept { *this = std::move(other); }
LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(path_, other.path_), std::swap(file_, other.file_), std::swap(size_, other.size_);
  return *this;
}

void LineFile::append(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  write_all(file_, text, path_);
  size_ += text.size();
}

void LineFile::sync() {
  if (::fdatasync(file_) != 0) fail(path_, "sync");
}

std::string make_run_directory(const std::string& wanted, const std::string& stem) {
  namespace fs = std::filesystem;
  const auto holds_run = [](const fs::path& folder) {
    return fs::exists(folder / "config.ini") || fs::exists(folder / "ledger.jsonl");
  };
  fs::path folder = wanted;
  if (wanted.empty()) {
    std::error_code ignored;
    fs::create_directories("runs", ignored);
    folder = fs::path("runs") / stem;
    // create_directory is exclusive: two runs that start together get two folders.
    for (int i = 2; fs::exists(folder) || !fs::create_directory(folder, ignored); ++i) {
      if (ignored)
        throw ConfigError(fmt::format("run.dir: cannot create {}: {}", folder.string(), ignored.message()));
      folder = fs::path("runs") / fmt::format("{}-{}", stem, i);
    }
  } else if (holds_run(folder) && !fs::exists(folder / "checkpoint/latest") &&
             !fs::exists(folder / "certificate.json")) {
    throw ConfigError(fmt::format(
        "run.dir = {} holds a run that was killed before its first step; nothing was released: remove the "
        "folder, or choose another",
        wanted));
  } else if (fs::exists(folder / "certificate.json")) {
    throw ConfigError(fmt::format("run.dir = {} already holds a finished run: choose another folder", wanted));
  } else if (holds_run(folder)) {
    throw ConfigError(
        fmt::format("run.dir = {} already holds a run: go on with 'dpmpi resume {}', or choose another folder",
                    wanted, wanted));
  }
  std::error_code error;
  fs::create_directories(folder / "checkpoint", error);
  if (error) throw ConfigError(fmt::format("run.dir: cannot create {}: {}", folder.string(), error.message()));
  fs::permissions(folder / "checkpoint", fs::perms::owner_all, error);
  return folder.string();
}

std::string safetensors(std::span<const ParameterGroup> groups, std::span<const float> w,
                        const std::vector<std::pair<std::string, std::string>>& metadata) {
  nlohmann::ordered_json header;
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  std::string data;
  for (const auto& group : groups) {
    const std::size_t count = group.rows * group.cols, begin = data.size();
    data.append(reinterpret_cast<const char*>(w.data() + group.offset), count * sizeof(float));
    auto shape =
        group.rows == 1 ? nlohmann::json::array({group.cols}) : nlohmann::json::array({group.rows, group.cols});
    header[group.name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize(round_up(text.size(), 8), ' ');
  const std::uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + data;
}

}  // namespace dpmpi
