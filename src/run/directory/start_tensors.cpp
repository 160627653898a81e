#include "run/directory/start_tensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "objective/layers/adapter.hpp"
#include "run/directory/safetensors.hpp"

namespace dpmpi {
namespace {

template <class T>
T number_at(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// IEEE 754 binary16.
float half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                     : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                     : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (bits >> 15) != 0 ? -size : size;
}

struct ElementType {
  const char* name;
  std::size_t bytes;
  float (*read)(const char* bytes);
};
constexpr ElementType element_types[] = {
    {"F32", 4, [](const char* at) { return number_at<float>(at); }},
    {"F64", 8, [](const char* at) { return static_cast<float>(number_at<double>(at)); }},
    {"F16", 2, [](const char* at) { return half(number_at<std::uint16_t>(at)); }},
    {"BF16", 2,
     [](const char* at) { return std::bit_cast<float>(std::uint32_t{number_at<std::uint16_t>(at)} << 16); }}};

std::vector<std::uint64_t> shape_of(const ParameterGroup& group) {
  if (group.rows == 1) return {group.cols};
  return {group.rows, group.cols};
}

/// Whether they are the same but for sizes of 1: a bias is a list here, and a column there.
bool alike(std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  std::erase(a, 1), std::erase(b, 1);
  return a == b;
}

/// The first ones, and how many more there are.
std::string names_of(std::span<const ParameterGroup> groups) {
  constexpr std::size_t most = 12;
  std::vector<std::string> names;
  for (const ParameterGroup& group : groups.first(std::min(most, groups.size()))) names.push_back(group.name);
  if (groups.size() > most) names.push_back(fmt::format("{} more", groups.size() - most));
  return fmt::format("{}", fmt::join(names, ", "));
}

class StartFile {
 public:
  explicit StartFile(const std::string& path)
      : path_(path), file_(open_run_file(path)), header_(read_safetensors_header(file_, path)) {
    header_.erase("__metadata__");
    data_ = file_.size() - file_.left();
  }

  void read(const ParameterGroup& group, std::span<float> to) {
    const auto entry = header_.find(group.name);
    if (entry == header_.end() && is_of_adapter(group.name)) return;
    if (entry == header_.end())
      return refuse(group.name, fmt::format("is not there; its shape is [{}]", fmt::join(shape_of(group), ",")));
    try {
      read(group, *entry, to);
    } catch (const nlohmann::json::exception&) {
      refuse(group.name, fmt::format("is described as {}, which is not understood", shown_json(*entry)));
    }
  }

  void finish(std::span<const ParameterGroup> groups) {
    check_places();
    bool others = false;
    for (const auto& [name, entry] : header_.items())
      if (std::ranges::find(groups, name, &ParameterGroup::name) == groups.end())
        refuse(name, "is none of the model's"), others = true;
    if (others)
      problems_.push_back(
          fmt::format("the model's tensors are {}: name them so, and take others out", names_of(groups)));
    if (!problems_.empty())
      throw DataError(fmt::format("{} does not fit:\n  {}", path_, fmt::join(problems_, "\n  ")));
  }

 private:
  void read(const ParameterGroup& group, const nlohmann::json& entry, std::span<float> to) {
    const auto name = entry.at("dtype").get<std::string>();
    const auto shape = entry.at("shape").get<std::vector<std::uint64_t>>();
    const auto at = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
    const auto type = std::ranges::find_if(element_types, [&](const ElementType& t) { return t.name == name; });
    if (type == std::end(element_types))
      return refuse(group.name, fmt::format("has the type {}; F64, F32, F16 and BF16 are read",
                                            shown_json(nlohmann::json(name))));
    if (!alike(shape, shape_of(group)))
      return refuse(group.name, fmt::format("has the shape [{}], where the model has [{}]", fmt::join(shape, ","),
                                            fmt::join(shape_of(group), ",")));
    const std::uint64_t bytes = group.size() * type->bytes, there = file_.size() - data_;
    if (!places_are_whole(entry) || at.size() != 2 || at[1] < at[0])
      return refuse(group.name,
                    fmt::format("stands at {}, which is no place", shown_json(entry.at("data_offsets"))));
    if (at[1] - at[0] != bytes)
      return refuse(group.name, fmt::format("has {} bytes, where {} numbers of type {} have {}", at[1] - at[0],
                                            group.size(), name, bytes));
    if (at[1] > there) return refuse(group.name, "is not where the header says: the file is cut");
    places_.push_back({at[0], at[1]});
    std::string raw(bytes, '\0');
    file_.go_to(data_ + at[0]);
    file_.read(raw);
    for (std::size_t j = 0; j < to.size(); ++j) to[j] = type->read(raw.data() + j * type->bytes);
    if (!std::ranges::all_of(to, [](float x) { return std::isfinite(x); }))
      refuse(group.name, "has numbers that are not finite, or beyond float32");
  }
  static bool places_are_whole(const nlohmann::json& entry) {
    return std::ranges::all_of(entry.at("data_offsets"), [](const auto& at) { return at.is_number_unsigned(); });
  }
  /// The tensors stand one behind the other, as the layout has it, and nothing else does.
  void check_places() {
    if (!problems_.empty()) return;
    std::ranges::sort(places_);
    std::uint64_t end = 0;
    bool gapless = true;
    for (const auto& [first, last] : places_) gapless = gapless && first == end, end = last;
    if (!gapless || end != file_.size() - data_)
      problems_.emplace_back("its tensors overlap, leave gaps, or do not fill the file");
  }
  void refuse(const std::string& tensor, const std::string& what) {
    problems_.push_back(fmt::format("tensor {} {}", shown_json(nlohmann::json(tensor)), what));
  }

  std::string path_;
  FileReader file_;
  nlohmann::json header_;
  std::uint64_t data_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  ///< of the tensors that were read
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<float> read_start_tensors(const std::string& path, std::span<const ParameterGroup> groups) {
  StartFile file(path);
  std::size_t count = 0;
  for (const ParameterGroup& group : groups) count = std::max(count, group.offset + group.size());
  std::vector<float> numbers(count);
  for (const ParameterGroup& group : groups)
    file.read(group, std::span(numbers).subspan(group.offset, group.size()));
  file.finish(groups);
  return numbers;
}

}  // namespace dpmpi
