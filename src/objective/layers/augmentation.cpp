#include "objective/layers/augmentation.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "core/trim.hpp"
#include "objective/layers/draws.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t largest_shift = 1000;
constexpr std::uint32_t counter_tag = 0x61756721;  // no other stream has it

}  // namespace

Augmentation read_augmentation(std::string_view text, std::vector<std::string>& problems) {
  Augmentation read;
  for (std::string_view rest = text; !trim(rest).empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = trim(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (item == "flip") {
      read.flip = true;
      continue;
    }
    constexpr std::string_view shift = "shift ";
    const std::string_view number = item.starts_with(shift) ? trim(item.substr(shift.size())) : std::string_view();
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), read.shift);
    if (number.empty() || error != std::errc() || end != number.data() + number.size() || read.shift == 0 ||
        read.shift > largest_shift)
      problems.push_back(fmt::format(
          "objective.augment: {} is no way to augment; there are: shift N (rows and columns, 1 to {}), flip", item,
          largest_shift));
  }
  return read;
}

void check_augmentation(const Augmentation& augmentation, const Volume& in) {
  if (!augmentation.any()) {
    if (augmentation.copies > 1)
      throw ConfigError(fmt::format(
          "objective.augmentations = {} copies of a record would all be the same: set objective.augment, as shift 2, flip",
          augmentation.copies));
    return;
  }
  if (in.positions() == 1)
    throw ConfigError(
        "objective.augment moves images, and the records are lists of numbers: set objective.input, as 1x28x28");
  if (augmentation.shift >= std::min(in.height, in.width))
    throw ConfigError(fmt::format("objective.augment: shift {} moves images of {}x{} out of sight: take at most {}",
                                  augmentation.shift, in.height, in.width, std::min(in.height, in.width) - 1));
}

void RandomCopies::set_point(std::span<const float> w) { point_ = digest_of(w); }

void RandomCopies::set_record(const float* record) {
  record_ = record;
  of_record_ = digest_of({record, in_.size()});
}

const float* RandomCopies::copy(std::size_t k) {
  const auto bits = PublicCounter(point_, counter_tag)
                        .block({static_cast<std::uint32_t>(of_record_),
                                static_cast<std::uint32_t>(of_record_ >> 32), static_cast<std::uint32_t>(k), 0});
  const auto shift = static_cast<std::ptrdiff_t>(augmentation_.shift);
  const auto moved = [&](std::uint32_t word) {  // uniform on -shift .. shift, up to 2^-20
    return static_cast<std::ptrdiff_t>(word % static_cast<std::uint32_t>(2 * shift + 1)) - shift;
  };
  const std::ptrdiff_t down = moved(bits[0]), right = moved(bits[1]);
  const bool flipped = augmentation_.flip && (bits[2] & 1) != 0;
  const auto height = static_cast<std::ptrdiff_t>(in_.height), width = static_cast<std::ptrdiff_t>(in_.width);
  float* to = copy_.data();
  for (std::ptrdiff_t y = 0; y < height; ++y)
    for (std::ptrdiff_t x = 0; x < width; ++x, to += in_.channels) {
      const std::ptrdiff_t from_y = y - down, from_x = (flipped ? width - 1 - x : x) - right;
      const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      const float* const from = record_ + (from_y * width + from_x) * static_cast<std::ptrdiff_t>(in_.channels);
      for (std::size_t c = 0; c < in_.channels; ++c) to[c] = inside ? from[c] : 0.0F;
    }
  return copy_.data();
}

}  // namespace dpmpi
