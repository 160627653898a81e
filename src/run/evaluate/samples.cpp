#include "run/evaluate/samples.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/arrays.hpp"
#include "data/formats/write.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {
namespace {

// Number i of a generator of classes is of class i mod classes.
std::string row_text(std::span<const float> record, std::uint64_t i, std::size_t classes) {
  const std::string label = classes > 0 ? fmt::format("{},", i % classes) : "";
  return fmt::format("{}{}\n", label, fmt::join(record, ","));
}

// Weights that diverged, or are about to.
void refuse_no_numbers(std::span<const float> records) {
  if (std::ranges::all_of(records, [](float value) { return std::isfinite(value); })) return;
  throw DataError(
      "the generator makes values that are no numbers: its training diverged. Train it again with a smaller method.rate");
}

std::string column_names(std::size_t width, std::size_t classes) {
  std::string text = classes > 0 ? "label," : "";
  for (std::size_t j = 1; j <= width; ++j) text += fmt::format("{}x{}", j > 1 ? "," : "", j);
  return text + "\n";
}

}  // namespace

GreyImage sample_sheet(Objective& generator, std::span<const float> w) {
  const Generator& makes = *generator.generator();
  const std::size_t classes = std::max<std::size_t>(1, generator.classes());
  std::vector<float> records((64 + classes - 1) / classes * classes * makes.width());
  generator.generate(w, {0, "sheet of samples"}, 0, records);
  return makes.picture(records);
}

void write_samples(Objective& generator, std::span<const float> w, std::uint64_t seed, std::uint64_t count,
                   const std::string& path) {
  constexpr std::uint64_t at_once = 1024;
  const Generator& makes = *generator.generator();
  const std::size_t width = makes.width(), classes = generator.classes();
  const bool numpy = path.ends_with(".npy"), sheet = path.ends_with(".png");
  const PublicStream stream(seed, "samples");
  std::vector<float> records(std::min(sheet ? count : at_once, count) * width);
  WholeFile file(output_target(path));
  if (!sheet) file.write(numpy ? npy_header(count, width) : column_names(width, classes));
  for (std::uint64_t first = 0; first < count; first += records.size() / width) {
    records.resize(std::min<std::size_t>(records.size(), (count - first) * width));
    generator.generate(w, stream, first, records);
    refuse_no_numbers(records);
    if (sheet) {
      file.write(png(makes.picture(records)));
    } else if (numpy) {
      file.write({reinterpret_cast<const char*>(records.data()), records.size() * sizeof(float)});
    } else {
      std::string text;
      for (std::size_t at = 0; at < records.size(); at += width)
        text += row_text(std::span(records).subspan(at, width), first + at / width, classes);
      file.write(text);
    }
  }
  file.commit();
}

}  // namespace dpmpi
