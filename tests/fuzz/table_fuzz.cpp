#include "read_table.hpp"

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
  if ((data[0] & 48) == 48) options.person = "1", options.persons = ReadingRules::Persons::with_records;
  options.skip_lines = data[0] >> 7;
  fuzzing::read_table((data[0] & 64) != 0 ? "tsv" : "csv", options, text);
  return 0;
}
