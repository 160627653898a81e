#pragma once
// Which layers of objective.layers do not go together with other settings.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "run/config/config.hpp"

namespace dpmpi {

/// Whether a word stands between blanks, commas or parentheses.
inline bool has_word(std::string_view text, std::string_view word) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end]))) return true;
  }
  return false;
}

/// Whoever compares losses, or proves what a minimiser of their mean is, would not see what is dropped.
inline void check_layer_rules(const RunConfig& config, std::vector<std::string>& problems) {
  const std::string layers = config.value("objective.layers");
  if (has_word(layers, "dropout") && config.method_name != "dp-sgd" && config.method_name != "dp-ftrl")
    problems.push_back(fmt::format(
        "objective.layers: dropout changes gradients and no losses; method.name = {} takes networks without it, "
        "dp-sgd and dp-ftrl with it",
        config.method_name));
}

}  // namespace dpmpi
