// Headers of binary files, and the rows of native sparse files.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "check.hpp"
#include "core/errors.hpp"
#include "data/formats/native_sparse.hpp"

namespace {

using namespace dpmpi;

void check_array(const ArrayHeader& h) {
  fuzzing::require(h.rows > 0 && h.width > 0 && h.end() > h.offset && h.row_bytes() <= h.end());
}

/// Reads all rows of a native sparse file through a file in memory.
void read_rows(std::string_view bytes, const NativeHeader& header) {
  if (header.end() != bytes.size() || header.features > 1 << 16) return;
  const int memory = memfd_create("fuzz", 0);
  fuzzing::require(write(memory, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  try {
    InputFile file(fmt::format("/proc/self/fd/{}", memory));
    RecordsBuilder out(Storage::sparse_f32, header.features, header.records, {});
    const FeatureMap map({}, header.features, [](const std::string&) { return std::size_t{0}; });
    read_native_sparse(file, header, 0, std::vector<float>(header.records, 1.0F), map, out);
    fuzzing::check_records(out.take());
  } catch (const DataError&) {
  }
  close(memory);
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
      read_rows(bytes, seen);
    else
      check_array(seen.row_array());
  });
  if (size >= NativeHeader::bytes) {
    const auto word = [&](std::size_t at) { return std::uint64_t{data[at]}; };
    const NativeHeader made{Storage::sparse_f32, 1 + word(16) % 8, 1 + word(24), word(32) % 16};
    const std::string file = made.encode() + std::string(bytes.substr(NativeHeader::bytes));
    read_rows(file, parse_native_header(file, "fuzz"));
  }
  return 0;
}
