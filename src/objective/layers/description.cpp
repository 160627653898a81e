#include "objective/layers/description.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/trim.hpp"

namespace dpmpi {
namespace {

/// Splits at the commas that stand in no parentheses.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')') --depth;
    if (text[at] != ',' || depth > 0) continue;
    items.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  items.push_back(text.substr(begin));
  return items;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto blank = [&](std::size_t i) { return std::isspace(static_cast<unsigned char>(text[i])) != 0; };
    while (at < text.size() && blank(at)) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !blank(at)) ++at;
    if (begin < at) words.emplace_back(text.substr(begin, at - begin));
  }
  return words;
}

/// Reads lists of layers, one within the other.
class LayerReader {
 public:
  LayerReader(std::vector<std::string>& problems, std::string_view option) : problems_(problems), option_(option) {}

  LayerPlans list(std::string_view text, const std::string& place, int depth = 0) {
    LayerPlans plans;
    if (depth > 8) {
      problems_.push_back(fmt::format("objective.{}: {}: parentheses are nested more than 8 deep", option_, place));
      return plans;
    }
    std::size_t number = 0;
    for (const std::string_view item : split_list(text)) {
      const std::string here = fmt::format("{}{}", place, ++number);
      try {
        plans.push_back({shown(item), layer(trim(item), here, depth)});
      } catch (const ConfigError& error) {
        problems_.push_back(
            fmt::format("objective.{}: layer {} ({}): {}", option_, here, shown(item), error.what()));
      }
    }
    return plans;
  }

 private:
  /// With one blank between words, and not all of what is long.
  static std::string shown(std::string_view item) {
    constexpr std::size_t most = 60;
    const std::string text = fmt::format("{}", fmt::join(words_of(item), " "));
    return text.empty() ? "nothing" : text.size() > most ? fmt::format("{}...", text.substr(0, most)) : text;
  }

  std::shared_ptr<const LayerPlan> layer(std::string_view item, const std::string& place, int depth) {
    const std::size_t open = item.find('(');
    LayerPlans inside;
    if (open != item.npos) {
      if (!item.ends_with(')')) throw ConfigError("its parentheses are not closed at its end");
      inside = list(item.substr(open + 1, item.size() - open - 2), place + ".", depth + 1);
    } else if (item.find(')') != item.npos) {
      throw ConfigError("a parenthesis is closed that was not opened");
    }
    std::vector<std::string> words = words_of(item.substr(0, open));
    const std::string name = words.empty() ? "" : words.front();
    if (!words.empty()) words.erase(words.begin());
    if (name == "batchnorm")
      throw ConfigError(
          "normalisation across a batch would let one person's record change the gradients of others, which no clip bounds: take groupnorm or layernorm, which look at one record");
    const auto& kinds = layer_kinds();
    const auto kind = std::ranges::find(kinds, name, &LayerKind::name);
    if (kind == kinds.end()) throw ConfigError(fmt::format("there is no such layer; there are: {}", forms()));
    LayerWords reader(std::move(words), std::move(inside));
    try {
      auto plan = kind->read(reader);
      reader.finish();
      return plan;
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}; it is written {}", error.what(), kind->form));
    }
  }

  static std::string forms() {
    std::string all;
    for (const LayerKind& kind : layer_kinds()) all += fmt::format("{}{}", all.empty() ? "" : ", ", kind.name);
    return all;
  }

  std::vector<std::string>& problems_;
  std::string_view option_;
};

}  // namespace

LayerPlans read_layers(std::string_view text, std::vector<std::string>& problems, std::string_view option) {
  return LayerReader(problems, option).list(text, "");
}

Volume read_volume(std::string_view text, std::vector<std::string>& problems) {
  constexpr std::size_t most = 1'000'000;
  std::vector<std::size_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t cross = std::min(text.find('x', begin), text.size());
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + begin, text.data() + cross, number);
    if (error != std::errc() || end != text.data() + cross || number == 0 || number > most) number = 0;
    numbers.push_back(number);
    begin = cross + 1;
  }
  if ((numbers.size() != 1 && numbers.size() != 3) || std::ranges::count(numbers, 0U) > 0) {
    problems.push_back(fmt::format(
        "objective.input = {}: it takes CHANNELSxHEIGHTxWIDTH, as 1x28x28, or one number for a list", text));
    return {0, 0, 0};
  }
  return numbers.size() == 1 ? Volume{numbers[0], 1, 1} : Volume{numbers[0], numbers[1], numbers[2]};
}

}  // namespace dpmpi
