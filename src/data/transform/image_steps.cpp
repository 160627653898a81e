// The table of steps, and their words.

#include <charconv>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/transform/image_step.hpp"

namespace dpmpi {
namespace {

std::size_t whole_number(std::string_view text, const std::string& what, std::size_t most) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > most)
    throw ConfigError(fmt::format("{} is a whole number from 1 to {}", what, most));
  return number;
}

}  // namespace

std::string ImageShape::text() const { return fmt::format("{}x{}x{}", channels, height, width); }

std::size_t StepWords::number(const std::string& name, std::size_t most) {
  if (next_ == words_.size()) throw ConfigError(fmt::format("the {} is missing", name));
  return whole_number(words_[next_++], "the " + name, most);
}

std::size_t StepWords::named_number(const std::string& name, std::size_t most) {
  const std::string head = name + "=";
  if (next_ == words_.size() || !words_[next_].starts_with(head))
    throw ConfigError(fmt::format("{} is missing", name));
  return whole_number(std::string_view(words_[next_++]).substr(head.size()), name, most);
}

void StepWords::finish() const {
  if (next_ < words_.size()) throw ConfigError(fmt::format("{} is not a part of it", words_[next_]));
}

const std::vector<ImageStepKind>& image_step_kinds() {
  static const std::vector<ImageStepKind> kinds{scattering_kind(), image_group_norm_kind()};
  return kinds;
}

}  // namespace dpmpi
