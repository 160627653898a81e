#include "run/evaluate/samples.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "data/formats/arrays.hpp"
#include "data/formats/write.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {
namespace {

std::string row_text(std::span<const float> record) { return fmt::format("{}\n", fmt::join(record, ",")); }

std::string column_names(std::size_t width) {
  std::string text;
  for (std::size_t j = 1; j <= width; ++j) text += fmt::format("{}x{}", j > 1 ? "," : "", j);
  return text + "\n";
}

}  // namespace

GreyImage sample_sheet(Objective& generator, std::span<const float> w) {
  const Generator& makes = *generator.generator();
  std::vector<float> records(64 * makes.width());
  generator.generate(w, {0, "sheet of samples"}, 0, records);
  return makes.picture(records);
}

void write_samples(Objective& generator, std::span<const float> w, std::uint64_t seed, std::uint64_t count,
                   const std::string& path) {
  constexpr std::uint64_t at_once = 1024;
  const Generator& makes = *generator.generator();
  const std::size_t width = makes.width();
  const bool numpy = path.ends_with(".npy"), sheet = path.ends_with(".png");
  const PublicStream stream(seed, "samples");
  std::vector<float> records(std::min(sheet ? count : at_once, count) * width);
  WholeFile file(output_target(path));
  if (!sheet) file.write(numpy ? npy_header(count, width) : column_names(width));
  for (std::uint64_t first = 0; first < count; first += records.size() / width) {
    records.resize(std::min<std::size_t>(records.size(), (count - first) * width));
    generator.generate(w, stream, first, records);
    if (sheet) {
      file.write(png(makes.picture(records)));
    } else if (numpy) {
      file.write({reinterpret_cast<const char*>(records.data()), records.size() * sizeof(float)});
    } else {
      std::string text;
      for (std::size_t at = 0; at < records.size(); at += width)
        text += row_text(std::span(records).subspan(at, width));
      file.write(text);
    }
  }
  file.commit();
}

}  // namespace dpmpi
