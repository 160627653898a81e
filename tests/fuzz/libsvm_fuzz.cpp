#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/libsvm.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpmpi;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  DataOptions options;
  options.normalize = (data[0] & 1) != 0 ? "l2" : "none";
  const std::size_t features = 1 + (data[0] >> 3);
  const FeatureMap map(options, features, [](const std::string&) { return std::size_t{0}; });
  const LabelRule labels(options, LabelKind::real, 0, true);
  const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  RecordsBuilder out((data[0] & 2) != 0 ? Storage::dense_f32 : Storage::sparse_f32, features, rows,
                     {.unit_norm = (data[0] & 1) != 0});
  TextPosition position{"fuzz", 1, 0};
  try {
    parse_libsvm(text, position, {(data[0] & 4) != 0 ? 1U : 0U}, map, labels, out);
    fuzzing::require(position.global_index == out.rows());
    fuzzing::check_records(out.take());
  } catch (const DataError&) {
  }
  return 0;
}
