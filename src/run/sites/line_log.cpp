#include "run/sites/line_log.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/files/untrusted_json.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {

LineLog::LineLog(std::string path) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  const std::string text = read_file(path_, file_limit::lines);
  for (std::size_t end = 0; (end = text.find('\n', size_)) != text.npos; size_ = end + 1) {
    const std::string place = fmt::format("{}:{}", path_, lines_.size() + 1);
    lines_.push_back(parse_untrusted_json(std::string_view(text).substr(size_, end - size_), place));
    const auto round = lines_.back().find("round");
    if (!lines_.back().is_object() || round == lines_.back().end() || !round->is_number_unsigned())
      throw DataError(fmt::format("{} is not a line of a round", place));
  }
}

void LineLog::append(const nlohmann::ordered_json& line, int permissions) {
  const std::string text = line.dump();
  LineFile file(path_, size_, permissions);
  file.append(text);
  file.sync();
  size_ = file.size();
  lines_.push_back(nlohmann::json::parse(text));
}

}  // namespace dpmpi
