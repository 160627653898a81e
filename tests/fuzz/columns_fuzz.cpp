// A columns file and, behind a line "---", a table that is read by it.
#include "data/columns/columns_file.hpp"
#include "read_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpmpi;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view cut = "\n---\n";
  const std::size_t at = std::min(all.find(cut), all.size());
  const std::string_view text = all.substr(std::min(at + cut.size(), all.size()));
  DataOptions options;
  try {
    options.columns_file = std::make_shared<ColumnsFile>(std::string(all.substr(0, at)), "columns");
  } catch (const ConfigError&) {
    return 0;
  }
  options.columns_file->apply_to(options);
  if (const ColumnRule* const person = options.columns_file->of_kind(ColumnKind::person)) {
    options.person = person->name;
    options.persons = ReadingRules::Persons::with_records;
  }
  fuzzing::read_table("csv", options, text);
  return 0;
}
