#include "run/config/embedded_columns.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/columns/coding.hpp"

namespace dpmpi {
namespace {

/// A word of the layers as it is meant: what stands in quotation marks is a name, whatever it looks like.
struct LayersWord {
  std::string text;
  bool quoted = false;
};

class EmbeddedColumns {
 public:
  EmbeddedColumns(std::string_view layers, const ColumnsFile* file, std::vector<std::string>& problems)
      : text_(layers), file_(file), problems_(problems) {}

  std::string resolve() {
    while (at_ < text_.size())
      if (next().text == "embedding") embedding();
    return std::move(out_);
  }

 private:
  static bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
  static bool ends_list(char c) { return c == ',' || c == '(' || c == ')'; }

  /// Copies what stands up to the end of the next word, and returns that.
  LayersWord next() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_blank(text_[at_]) || ends_list(text_[at_]))) ++at_;
    LayersWord word = read_word();
    out_ += text_.substr(begin, at_ - begin);
    return word;
  }
  /// Up to a blank or the end of a layer, or what is in quotation marks.
  LayersWord read_word() {
    if (at_ < text_.size() && text_[at_] == '"') return {read_quoted(), true};
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && !ends_list(text_[at_])) ++at_;
    return {std::string(text_.substr(begin, at_ - begin))};
  }
  /// As in a columns file: a quotation mark within is doubled. One that nobody closes goes to the end.
  std::string read_quoted() {
    std::string word;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' && !text_.substr(at_ + 1).starts_with('"')) return ++at_, word;
      if (text_[at_] == '"') ++at_;
      word += text_[at_];
    }
    open_ = true;
    return word;
  }

  /// Behind "embedding": SIZE of COLUMN ... up to the end of the layer. What it is not is left to who reads layers.
  void embedding() {
    next();
    if (next().text != "of") return;
    const std::size_t begin = at_;
    std::vector<FeatureRange> ranges;
    bool any_name = false;
    while (const std::optional<LayersWord> word = next_column()) {
      const std::optional<FeatureRange> range = word->quoted ? std::nullopt : as_range(word->text);
      any_name = any_name || !range;
      if (const auto found = range ? range_alone(*word, *range) : features_of(word->text)) ranges.push_back(*found);
    }
    if (!any_name) {  // as it stands: it is part of the config's digest
      out_ += text_.substr(begin, at_ - begin);
      return;
    }
    std::ranges::sort(ranges, {}, &FeatureRange::first);
    for (const auto& [first, last] : ranges) out_ += " " + text_of({first, last});
  }
  /// With a zero in front where a column has this name: what is resolved is read again with a finished run.
  std::string text_of(const FeatureRange& range) const {
    std::string text = fmt::format("{}-{}", range.first, range.last);
    while (file_ != nullptr && file_->find(text) != nullptr) text = "0" + text;
    return text;
  }
  /// Nothing at the end of the layer.
  std::optional<LayersWord> next_column() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    if (at_ == text_.size() || ends_list(text_[at_])) return {};
    return read_word();
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

  /// A range that is no name of a column, too: nobody knows which of the two is meant.
  std::optional<FeatureRange> range_alone(const LayersWord& word, const FeatureRange& range) {
    if (file_ == nullptr || file_->find(word.text) == nullptr) return range;
    refuse(word.text, fmt::format("features FIRST-LAST are meant, or the column of {} with this name: write "
                                  "\"{}\" in quotation marks for the column, or 0{} for the features",
                                  file_->path, word.text, word.text));
    return {};
  }

  std::optional<FeatureRange> features_of(const std::string& name) {
    if (std::exchange(open_, false)) {
      refuse(name, "its quotation mark is not closed (one within a name is doubled)");
      return {};
    }
    if (name.empty()) {
      refuse("\"\"", "a column has a name");
      return {};
    }
    if (file_ == nullptr) {
      refuse(name, "names of columns need a columns file (data.columns); features are written FIRST-LAST");
      return {};
    }
    const std::vector<FeatureRange> features = features_of_columns(*file_);
    std::vector<std::string> others;
    for (std::size_t c = 0; c < features.size(); ++c) {
      const ColumnRule& rule = file_->columns[c];
      if (rule.kind != ColumnKind::category) continue;
      if (rule.name == name) return features[c];
      others.push_back(rule.name);
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
  bool open_ = false;  // the quotation mark of the word that was read last
};

}  // namespace

std::string with_embedded_columns(std::string_view layers, const ColumnsFile* file,
                                  std::vector<std::string>& problems) {
  return EmbeddedColumns(layers, file, problems).resolve();
}

}  // namespace dpmpi
