#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpmpi;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  DataOptions options;
  options.normalize = (data[0] & 1) != 0 ? "l2" : "none";
  options.densify = (data[0] & 2) != 0;
  options.index_base = (data[0] & 4) != 0 ? 1 : 0;
  options.features = 1 + (data[0] >> 3);
  try {
    const auto format = make_format("libsvm", options);
    const Layout layout = format->inspect({{"fuzz", std::string(text), text.size()}});
    const FeatureMap map(options, layout.features, [](const std::string&) { return std::size_t{0}; });
    const LabelRule labels(options, LabelKind::real, 0, true);
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    RecordsBuilder out(layout.storage, layout.features, rows, {.unit_norm = (data[0] & 1) != 0});
    Faults faults;
    Position position{"fuzz"};
    format->read({layout.records(), text.substr(layout.records().begin), position, faults}, map, labels, out);
    faults.refuse();
    fuzzing::require(position.global_index == out.rows());
    fuzzing::check_records(out.take());
  } catch (const DataError&) {
  }
  return 0;
}
