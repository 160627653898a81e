#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/table.hpp"

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
    const TableLayout layout = table_layout(text, options, (data[0] & 64) != 0 ? '\t' : ',', "fuzz");
    const TableSchema& schema = layout.schema;
    const FeatureMap map(options, schema.features,
                         [&](const std::string& name) { return schema.feature_of(name); });
    const LabelRule labels(options, LabelKind::real, 0, true);
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    RecordsBuilder out(Storage::dense_f32, schema.features, rows, {});
    TextPosition position{"fuzz", layout.line, 0};
    parse_table(text.substr(layout.begin), position, schema, map, labels, out);
    fuzzing::require(position.global_index == out.rows());
    fuzzing::check_records(out.take());
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
  return 0;
}
