#pragma once
// What every reader of tables must hold, whatever the table.

#include <algorithm>
#include <string>
#include <string_view>

#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/format.hpp"

namespace dpmpi::fuzzing {

/// Reads `text` as a table of this format, which may be refused.
inline void read_table(const char* format_name, const DataOptions& options, std::string_view text) {
  try {
    const auto format = make_format(format_name, options);
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
    require(position.global_index == out.rows());
    check_records(out.take());
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
}

}  // namespace dpmpi::fuzzing
