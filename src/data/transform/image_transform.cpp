#include "data/transform/image_transform.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t longest_side = 1 << 14;
/// Numbers of features are those of 32 bits.
constexpr std::uint64_t most_features = std::numeric_limits<std::uint32_t>::max();

std::vector<std::string> words_of_step(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

ImageShape read_image_shape(const std::string& text) {
  std::vector<std::size_t> sides;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t cross = std::min(text.find('x', begin), text.size());
    std::size_t side = 0;
    const auto [end, error] = std::from_chars(text.data() + begin, text.data() + cross, side);
    if (error != std::errc() || end != text.data() + cross || side > longest_side) side = 0;
    sides.push_back(side);
    begin = cross + 1;
  }
  if (sides.size() != 3 || std::ranges::count(sides, 0U) > 0)
    throw ConfigError(fmt::format("data.image = {}: it takes CHANNELSxHEIGHTxWIDTH, as 1x28x28, each from 1 to {}",
                                  text, longest_side));
  const ImageShape shape{sides[0], sides[1], sides[2]};
  if (shape.size() > most_features)
    throw ConfigError(fmt::format("data.image = {}: more than {} numbers", text, most_features));
  return shape;
}

std::unique_ptr<const ImageStepPlan> read_step(const std::string& text) {
  std::vector<std::string> words = words_of_step(text);
  const std::string name = words.empty() ? "" : words.front();
  if (!words.empty()) words.erase(words.begin());
  if (name == "batchnorm" || name == "standard")
    throw ConfigError("statistics across records would be private: take groupnorm, which looks at one image alone");
  const auto& kinds = image_step_kinds();
  const auto kind = std::ranges::find(kinds, name, &ImageStepKind::name);
  if (kind == kinds.end()) {
    std::vector<std::string> forms;
    for (const ImageStepKind& each : kinds) forms.push_back(each.form);
    throw ConfigError(fmt::format("there is no such step; there are: {}", fmt::join(forms, ", ")));
  }
  StepWords reader(std::move(words));
  try {
    auto plan = kind->read(reader);
    reader.finish();
    return plan;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}; it is written {}", error.what(), kind->form));
  }
}

/// Shapes are those of the steps before, as far as these can be read.
void read_steps(const std::vector<std::string>& texts, std::optional<ImageShape> shape, ImageTransform& transform,
                std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = fmt::format("{}", fmt::join(words_of_step(texts[i]), " "));
    try {
      std::shared_ptr<const ImageStepPlan> plan = read_step(text);
      if (!shape) continue;
      transform.steps.push_back({text, *shape, plan});
      const ImageShape in = *shape;
      shape.reset();
      const ImageShape out = plan->out(in);
      if (out.size() > most_features)
        throw ConfigError(fmt::format("it makes {}, which are more than {} numbers", out.text(), most_features));
      shape = transform.out = out;
    } catch (const ConfigError& error) {
      problems.push_back(fmt::format("data.transform: step {} ({}): {}", i + 1,
                                     text.empty() ? "nothing" : text.substr(0, 60), error.what()));
      shape.reset();
    }
  }
}

}  // namespace

std::string ImageTransform::text() const {
  std::vector<std::string> texts;
  for (const Step& step : steps) texts.push_back(step.text);
  return fmt::format("{}, {}: {}", in.text(), fmt::join(texts, ", "), out.text());
}

std::optional<ImageTransform> read_transform(const std::string& image, const std::vector<std::string>& steps,
                                             std::vector<std::string>& problems) {
  if (image.empty() && steps.empty()) return {};
  const std::size_t before = problems.size();
  if (image.empty())
    problems.emplace_back("data.transform needs the shape of the images: set data.image, as 1x28x28");
  if (steps.empty())
    problems.emplace_back(
        "data.image is the shape of the images that data.transform takes: set that, too, or leave data.image out");
  ImageTransform transform;
  std::optional<ImageShape> shape;
  try {
    if (!image.empty()) shape = transform.in = read_image_shape(image);
  } catch (const ConfigError& error) {
    problems.emplace_back(error.what());
  }
  read_steps(steps, shape, transform, problems);
  return problems.size() > before ? std::nullopt : std::optional(std::move(transform));
}

TransformedImage::TransformedImage(const ImageTransform& transform) {
  values_.emplace_back(transform.in.size());
  for (const ImageTransform::Step& step : transform.steps) {
    steps_.push_back(step.plan->make(step.in));
    values_.emplace_back(step.plan->out(step.in).size());
  }
}

void TransformedImage::transform(std::span<float> out) {
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i]->apply(values_[i], values_[i + 1]);
  constexpr auto largest = static_cast<double>(std::numeric_limits<float>::max());
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = static_cast<float>(std::clamp(values_.back()[j], -largest, largest));
}

}  // namespace dpmpi
