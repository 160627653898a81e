#include "run/config/embedded_columns.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/columns/coding.hpp"

namespace dpmpi {
namespace {

/// Features of a column, from 1.
struct FeatureRange {
  std::size_t first, last;
};

class EmbeddedColumns {
 public:
  EmbeddedColumns(std::string_view layers, const ColumnsFile* file, std::vector<std::string>& problems)
      : text_(layers), file_(file), problems_(problems) {}

  std::string resolve() {
    while (at_ < text_.size())
      if (const std::string word = next(); word == "embedding") embedding();
    return std::move(out_);
  }

 private:
  static bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
  static bool ends_list(char c) { return c == ',' || c == '(' || c == ')'; }

  /// Copies what stands up to the end of the next word, and returns that.
  std::string next() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_blank(text_[at_]) || ends_list(text_[at_]))) ++at_;
    std::string word = read_word();
    out_ += text_.substr(begin, at_ - begin);
    return word;
  }
  /// Up to a blank or the end of a layer, or what is in quotation marks.
  std::string read_word() {
    if (at_ < text_.size() && text_[at_] == '"') return read_quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && !ends_list(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string read_quoted() {
    const std::size_t end = std::min(text_.find('"', at_ + 1), text_.size());
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = std::min(end + 1, text_.size());
    return word;
  }

  /// Behind "embedding": SIZE of COLUMN ... up to the end of the layer. What it is not is left to who reads layers.
  void embedding() {
    next();
    if (next() != "of") return;
    const std::size_t begin = at_;
    std::vector<FeatureRange> ranges;
    bool any_name = false;
    for (std::string word = next_column(); !word.empty(); word = next_column()) {
      const std::optional<FeatureRange> range = as_range(word);
      any_name = any_name || !range;
      if (const auto found = range ? range : features_of(word)) ranges.push_back(*found);
    }
    if (!any_name) {  // as it stands: it is part of the config's digest
      out_ += text_.substr(begin, at_ - begin);
      return;
    }
    std::ranges::sort(ranges, {}, &FeatureRange::first);
    for (const auto& [first, last] : ranges) out_ += fmt::format(" {}-{}", first, last);
  }
  /// Empty at the end of the layer.
  std::string next_column() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ < text_.size() && ends_list(text_[at_]) ? "" : read_word();
  }
  static std::optional<FeatureRange> as_range(const std::string& word) {
    const std::size_t dash = word.find('-');
    const auto is_number = [](std::string_view part) {
      return !part.empty() && part.size() < 10 &&
             std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (dash == word.npos || !is_number(std::string_view(word).substr(0, dash)) ||
        !is_number(std::string_view(word).substr(dash + 1)))
      return {};
    return FeatureRange{std::stoul(word.substr(0, dash)), std::stoul(word.substr(dash + 1))};
  }

  std::optional<FeatureRange> features_of(const std::string& name) {
    if (file_ == nullptr) {
      refuse(name, "names of columns need a columns file (data.columns); features are written FIRST-LAST");
      return {};
    }
    std::size_t before = 0;
    std::vector<std::string> others;
    for (const ColumnRule& rule : file_->columns) {
      if (!makes_features(rule)) continue;
      const std::size_t width = ColumnCode(rule, file_->place(rule), false).width();
      if (rule.kind == ColumnKind::category && rule.name == name) return FeatureRange{before + 1, before + width};
      if (rule.kind == ColumnKind::category) others.push_back(rule.name);
      before += width;
    }
    refuse(name, fmt::format("{} has no column of kind category with this name; there {}", file_->path,
                             others.empty() ? "is none" : fmt::format("are {}", fmt::join(others, ", "))));
    return {};
  }
  void refuse(const std::string& name, const std::string& why) {
    problems_.push_back(fmt::format("objective.layers: embedding of {}: {}", name, why));
  }

  std::string_view text_;
  const ColumnsFile* file_;
  std::vector<std::string>& problems_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string with_embedded_columns(std::string_view layers, const ColumnsFile* file,
                                  std::vector<std::string>& problems) {
  return EmbeddedColumns(layers, file, problems).resolve();
}

}  // namespace dpmpi
