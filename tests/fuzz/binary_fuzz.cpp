// Headers of binary files, and the rows of native sparse files.
#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/native.hpp"
#include "memory_file.hpp"

namespace {

using namespace dpmpi;

void check_array(const ArrayHeader& h) {
  fuzzing::require(h.rows > 0 && h.width > 0 && h.end() > h.offset && h.row_bytes() <= h.end());
}

/// Reads all labels and rows of a native sparse file through a file in memory.
void read_rows(std::string_view bytes) {
  const fuzzing::MemoryFile memory(bytes);
  try {
    const DataOptions options;
    const auto format = make_format("native", options);
    const Layout layout = format->inspect({{"fuzz", std::string(bytes), bytes.size()}});
    if (layout.features > 1 << 16) return;
    InputFile file(memory.path());
    RecordsBuilder out(Storage::sparse_f32, layout.features, layout.records().rows, {});
    const FeatureMap map(options, layout.features, [](const std::string&) { return std::size_t{0}; });
    const LabelRule labels(options, LabelKind::real, 0, true);
    Faults faults;
    for (const Section& section : layout.sections) {
      Position position{.file = "fuzz", .byte = section.begin};
      format->read(
          {section, bytes.substr(section.begin, section.rows * section.row_bytes), position, faults, &file}, map,
          labels, out);
    }
    faults.refuse();
    fuzzing::check_records(out.take());
  } catch (const DataError&) {
  }
}

template <class Parse>
void attempt(Parse&& parse) {
  try {
    parse();
  } catch (const DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  attempt([&] { check_array(parse_idx_header(bytes, "fuzz")); });
  attempt([&] { check_array(parse_npy_header(bytes, "fuzz")); });
  attempt([&] {
    // Give the fuzzer a header with a right checksum, or it would never come further.
    const NativeHeader seen = parse_native_header(bytes, "fuzz");
    if (seen.storage == Storage::sparse_f32)
      read_rows(bytes);
    else
      check_array(seen.row_array());
  });
  if (size >= NativeHeader::bytes) {
    const auto word = [&](std::size_t at) { return std::uint64_t{data[at]}; };
    const NativeHeader made{Storage::sparse_f32, 1 + word(16) % 8, 1 + word(24), word(32) % 16};
    const std::string file = made.encode() + std::string(bytes.substr(NativeHeader::bytes));
    read_rows(file);
  }
  return 0;
}
