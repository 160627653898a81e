#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpmpi;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  DataOptions options;
  options.label = (data[0] & 1) != 0 ? "last" : "auto";
  options.unknown = (data[0] & 2) != 0 ? "zero" : "error";
  if ((data[0] & 4) != 0) options.missing = "0";
  if ((data[0] & 8) != 0) options.comment = "|";
  if ((data[0] & 16) != 0) options.one_hot = {"2:a|b|?"};
  if ((data[0] & 32) != 0) options.drop = {"3"};
  options.skip_lines = data[0] >> 7;
  try {
    const auto format = make_format((data[0] & 64) != 0 ? "tsv" : "csv", options);
    const Layout layout = format->inspect({{"fuzz", std::string(text), text.size()}});
    const FeatureMap map(options, layout.features,
                         [&](const std::string& name) { return format->feature_of(name, layout.features); });
    const LabelRule labels(options, LabelKind::real, 0, true);
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    RecordsBuilder out(Storage::dense_f32, layout.features, rows, {});
    Faults faults;
    Position position{"fuzz", layout.records().line};
    format->read({layout.records(), text.substr(layout.records().begin), position, faults}, map, labels, out);
    faults.refuse();
    fuzzing::require(position.global_index == out.rows());
    fuzzing::check_records(out.take());
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
  return 0;
}
