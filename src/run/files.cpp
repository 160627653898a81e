#include "dpmpi/run/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/durable.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/fault.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw DataError(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

void write_file(const std::string& path, std::string_view text, int permissions) {
  const std::string temporary = path + ".new";
  DurableFile file(temporary, O_WRONLY | O_CREAT | O_TRUNC, permissions);
  file.write(text);
  file.sync();
  file.close();
  rename_file(temporary, path);
  sync_folder_of(path);
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

LineFile::LineFile(const std::string& path, std::uint64_t offset, int permissions)
    : file_(path, O_WRONLY | O_CREAT | O_APPEND, permissions), size_(offset) {
  if (file_.size() < offset)
    throw DataError(
        fmt::format("{} is shorter ({} bytes) than when the checkpoint was written ({}): put its lines "
                    "back, or start a new run",
                    path, file_.size(), offset));
  file_.truncate(offset);
}

void LineFile::append(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  fault_point("append");
  file_.write(text);
  size_ += text.size();
}

void LineFile::sync() {
  file_.check_in_place();
  file_.sync();
}

std::string safetensors_data(std::span<const ParameterGroup> groups, std::span<const float> w) {
  std::string data;
  for (const auto& group : groups)
    data.append(reinterpret_cast<const char*>(w.data() + group.offset), group.rows * group.cols * sizeof(float));
  return data;
}

std::string safetensors(std::span<const ParameterGroup> groups, std::span<const float> w,
                        const std::vector<std::pair<std::string, std::string>>& metadata) {
  nlohmann::ordered_json header;
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  std::size_t begin = 0;
  for (const auto& group : groups) {
    const std::size_t end = begin + group.rows * group.cols * sizeof(float);
    auto shape =
        group.rows == 1 ? nlohmann::json::array({group.cols}) : nlohmann::json::array({group.rows, group.cols});
    header[group.name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize(round_up(text.size(), 8), ' ');
  const std::uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text + safetensors_data(groups, w);
}

}  // namespace dpmpi
