#include "run/directory/safetensors.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {
namespace {

template <class Take>
void for_each_tensor(std::span<const ParameterGroup> groups, std::span<const float> w, Take&& take) {
  for (const auto& group : groups)
    take({reinterpret_cast<const char*>(w.data() + group.offset), group.rows * group.cols * sizeof(float)});
}

/// The header's entries, in the order of the groups.
nlohmann::ordered_json tensor_entries(std::span<const ParameterGroup> groups) {
  nlohmann::ordered_json entries;
  std::size_t begin = 0;
  for (const auto& group : groups) {
    const std::size_t end = begin + group.rows * group.cols * sizeof(float);
    auto shape =
        group.rows == 1 ? nlohmann::json::array({group.cols}) : nlohmann::json::array({group.rows, group.cols});
    entries[group.name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  return entries;
}

std::string padded(std::string text) {
  text.resize(round_up(text.size(), 8), ' ');
  return text;
}

std::string safetensors_header(std::span<const ParameterGroup> groups,
                               const std::vector<std::pair<std::string, std::string>>& metadata) {
  nlohmann::ordered_json header;
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  header.update(tensor_entries(groups));
  const std::string text = padded(header.dump());
  const std::uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

}  // namespace

std::string safetensors_digest(std::span<const ParameterGroup> groups, std::span<const float> w) {
  Sha256 digest;
  digest.update(tensor_entries(groups).dump());
  for_each_tensor(groups, w, [&](std::string_view tensor) { digest.update(tensor); });
  return digest.hex();
}

void write_safetensors(const std::string& path, std::span<const ParameterGroup> groups, std::span<const float> w,
                       const std::vector<std::pair<std::string, std::string>>& metadata) {
  WholeFile file(path);
  file.write(safetensors_header(groups, metadata));
  for_each_tensor(groups, w, [&](std::string_view tensor) { file.write(tensor); });
  file.commit();
}

namespace {

constexpr std::uint64_t longest_header = file_limit::mebibyte;

/// The header's text, with `file` left behind it.
std::string read_header_text(FileReader& file, const std::string& path) {
  std::uint64_t size = 0;
  if (file.left() >= sizeof size) file.read({reinterpret_cast<char*>(&size), sizeof size});
  if (size == 0 || size > file.left()) throw DataError(fmt::format("{} is no model file, or is cut", path));
  if (size > longest_header)
    throw DataError(fmt::format("{} has a header of {} bytes; at most {} are allowed", path, size, longest_header));
  std::string text(size, '\0');
  file.read(text);
  return text;
}

template <class Json>
Json parsed_header(const std::string& text, const std::string& path) {
  Json header = parse_untrusted_json<Json>(text, path);
  if (!header.is_object()) throw DataError(fmt::format("{}: its header is not understood", path));
  return header;
}

/// The end of the last tensor that the header announces.
template <class Json>
std::uint64_t announced_bytes(const Json& header) {
  std::uint64_t end = 0;
  for (const Json& tensor : header) {
    if (!tensor.is_object() || !tensor.contains("data_offsets")) continue;
    for (const Json& offset : tensor["data_offsets"])
      if (offset.is_number_unsigned()) end = std::max(end, offset.template get<std::uint64_t>());
  }
  return end;
}

}  // namespace

nlohmann::json read_safetensors_header(FileReader& file, const std::string& path) {
  return parsed_header<nlohmann::json>(read_header_text(file, path), path);
}

bool has_safetensors_header(const std::string& path, std::span<const ParameterGroup> groups,
                            const std::vector<std::pair<std::string, std::string>>& metadata) {
  FileReader file = open_run_file(path);
  const std::string expected = safetensors_header(groups, metadata);
  if (file.left() < expected.size()) return false;
  std::string text(expected.size(), '\0');
  file.read(text);
  return text == expected && file.left() == announced_bytes(tensor_entries(groups));
}

std::map<std::string, std::string> read_metadata(const std::string& path) {
  FileReader file = open_run_file(path);
  const auto header = read_safetensors_header(file, path);
  std::map<std::string, std::string> metadata;
  if (const auto pairs = header.find("__metadata__"); pairs != header.end())
    for (const auto& [key, value] : pairs->items())
      if (value.is_string()) metadata[key] = value.get<std::string>();
  return metadata;
}

std::string parameters_digest(const std::string& path) {
  FileReader file = open_run_file(path);
  const std::string text = read_header_text(file, path);
  auto header = parsed_header<nlohmann::ordered_json>(text, path);
  // Readers disagree about repeated members and the like, so a header in other words counts as another one.
  const bool as_written = padded(header.dump()) == text;
  if (const std::uint64_t announced = announced_bytes(header); file.left() > announced)
    throw DataError(
        fmt::format("{} has {} bytes of tensors, where its header announces {}", path, file.left(), announced));
  header.erase("__metadata__");
  Sha256 digest;
  digest.update(as_written ? header.dump() : text);
  file.drain([&](std::string_view piece) { digest.update(piece); });
  return digest.hex();
}

std::vector<float> read_safetensors(const std::string& path, std::span<const ParameterGroup> groups) {
  FileReader file = open_run_file(path);
  auto header = read_safetensors_header(file, path);
  header.erase("__metadata__");
  const std::uint64_t tensors = file.left(), begin = file.size() - tensors;
  // What a writer would have said of these groups, tensor by tensor.
  auto expected = tensor_entries(groups);
  std::size_t values = 0;
  for (const auto& group : groups) {
    const auto& entry = expected[group.name];
    if (!header.contains(group.name) || header[group.name] != nlohmann::json(entry))
      throw DataError(
          fmt::format("{}: tensor {} is {}, where the objective with these data has {}", path, group.name,
                      header.contains(group.name) ? shown_json(header[group.name]) : "not there", entry.dump()));
    values = std::max(values, group.offset + group.rows * group.cols);
  }
  if (header.size() != groups.size() || tensors != values * sizeof(float))
    throw DataError(fmt::format("{} holds {} tensors in {} bytes, where the objective has {} in {}", path,
                                header.size(), tensors, groups.size(), values * sizeof(float)));
  std::vector<float> w(values);
  file.go_to(begin);
  for (const auto& group : groups)
    file.read({reinterpret_cast<char*>(w.data() + group.offset), group.rows * group.cols * sizeof(float)});
  return w;
}

std::optional<Tensor> read_tensor(const std::string& path, const std::string& name, std::size_t most) {
  FileReader file = open_run_file(path);
  const auto header = read_safetensors_header(file, path);
  const std::uint64_t begin = file.size() - file.left();
  const auto entry = header.find(name);
  if (entry == header.end()) return {};
  try {
    const auto shape = entry->at("shape").get<std::vector<std::uint64_t>>();
    const auto offsets = entry->at("data_offsets").get<std::vector<std::uint64_t>>();
    if (entry->at("dtype") != "F32" || shape.empty() || shape.size() > 2 || offsets.size() != 2) return {};
    const std::uint64_t rows = shape.size() == 2 ? shape[0] : 1, cols = shape.back();
    if (rows > most || cols > most || rows * cols > most) return {};
    const std::uint64_t bytes = rows * cols * sizeof(float);
    if (offsets[0] > file.left() || file.left() - offsets[0] < bytes || offsets[1] - offsets[0] != bytes)
      throw DataError(fmt::format("{}: tensor {} is not where its header says", path, name));
    Tensor tensor{rows, cols, std::vector<float>(rows * cols)};
    file.go_to(begin + offsets[0]);
    file.read({reinterpret_cast<char*>(tensor.values.data()), bytes});
    return tensor;
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format("{}: its header is not understood", path));
  }
}

}  // namespace dpmpi
