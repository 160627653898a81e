// A columns file and, behind a line "---", a table that is read by it.
#include "check.hpp"
#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpmpi;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view cut = "\n---\n";
  const std::size_t at = std::min(all.find(cut), all.size());
  const std::string_view text = all.substr(std::min(at + cut.size(), all.size()));
  try {
    DataOptions options;
    options.columns_file = std::make_shared<ColumnsFile>(all.substr(0, at), "columns");
    options.columns_file->apply_to(options);
    const auto format = make_format("csv", options);
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
