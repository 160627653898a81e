#include "data/formats/write.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "data/formats/hdf5_write.hpp"
#include "data/formats/native.hpp"

namespace dpmpi {
namespace {

/// A file that appears under its name only when close() has succeeded.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(output_target(path)), temporary_(path_ + ".part") {
    file_ = std::fopen(temporary_.c_str(), "wb");
    if (file_ == nullptr) fail();
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(temporary_.c_str());
  }
  void write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
  }
  template <class T>
  void write_array(std::span<const T> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  /// Under its name until then, for a library that writes files itself.
  const std::string& temporary() const { return temporary_; }
  void close() {
    if (std::fclose(std::exchange(file_, nullptr)) == 0 && std::rename(temporary_.c_str(), path_.c_str()) == 0)
      return;
    const int error = errno;
    std::remove(temporary_.c_str());
    errno = error;
    fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw DataError(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
  }
  std::string path_, temporary_;
  std::FILE* file_;
};

/// Calls visit(column, value) for the features of one row; zeros of sparse rows are left out.
template <class Visit>
void for_each_feature(const Records& r, std::size_t i, Visit&& visit) {
  if (r.storage == Storage::sparse_f32) {
    for (std::uint64_t e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) visit(r.column[e], r.value[e]);
    return;
  }
  for (std::size_t j = 0; j < r.features; ++j)
    visit(j, r.storage == Storage::dense_f32 ? r.row_f32(i)[j] : static_cast<float>(r.row_u8(i)[j]));
}

void write_csv(OutputFile& out, const Records& r, Progress& progress) {
  std::string line = "label";
  for (std::size_t j = 1; j <= r.features; ++j) fmt::format_to(std::back_inserter(line), ",x{}", j);
  out.write(line + "\n");
  std::vector<float> row(r.features);
  for (std::size_t i = 0; i < r.count; ++i, progress.add()) {
    row.assign(r.features, 0);
    for_each_feature(r, i, [&](std::size_t j, float x) { row[j] = x; });
    line = fmt::format("{}", r.label[i]);
    for (const float x : row) fmt::format_to(std::back_inserter(line), ",{}", x);
    out.write(line += '\n');
  }
}

void write_libsvm(OutputFile& out, const Records& r, Progress& progress) {
  std::string line;
  for (std::size_t i = 0; i < r.count; ++i, progress.add()) {
    line = fmt::format("{}", r.label[i]);
    for_each_feature(r, i, [&](std::size_t j, float x) {
      if (x != 0) fmt::format_to(std::back_inserter(line), " {}:{}", j + 1, x);
    });
    out.write(line += '\n');
  }
}

/// Dense rows with their padding, at the place where memory would have them.
void write_as_in_memory(OutputFile& out, const Records& r, Progress& progress) {
  verify(r.storage != Storage::sparse_f32, "sparse rows are not written as they stand in memory");
  const NativeHeader header{r.storage, r.count, r.features, 0, true};
  out.write(header.encode());
  out.write_array(std::span(r.label));
  out.write(std::string(header.rows() - header.labels() - 4 * header.records, '\0'));
  for (std::size_t i = 0; i < r.count; ++i, progress.add()) {
    if (r.storage == Storage::dense_f32)
      out.write_array(std::span(r.row_f32(i), r.stride));
    else
      out.write_array(std::span(r.row_u8(i), r.stride));
  }
}

void write_native(OutputFile& out, const Records& r, Progress& progress) {
  const NativeHeader header{r.storage, r.count, r.features, r.column.size()};
  out.write(header.encode());
  out.write_array(std::span(r.label));
  if (r.storage == Storage::sparse_f32) {
    out.write_array(std::span(r.row_begin));
    out.write_array(std::span(r.column));
    out.write_array(std::span(r.value));
    return;
  }
  for (std::size_t i = 0; i < r.count; ++i, progress.add()) {
    if (r.storage == Storage::dense_f32)
      out.write_array(std::span(r.row_f32(i), r.features));
    else
      out.write_array(std::span(r.row_u8(i), r.features));
  }
}

struct Writer {
  std::string_view format;
  void (*write)(OutputFile&, const Records&, Progress&);
};
constexpr Writer writers[] = {
    {"libsvm", write_libsvm},
    {"csv", write_csv},
    {"hdf5", [](auto& out, auto& records, auto& progress) { write_hdf5(out.temporary(), records, progress); }},
    {"native", write_native},
    {"mapped", write_as_in_memory}};

}  // namespace

std::string output_target(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode))
      throw DataError(fmt::format("{}: is a {}, which is not replaced: give a new name or a regular file", path,
                                  S_ISDIR(info.st_mode) ? "directory" : "pipe or device"));
    return std::filesystem::canonical(path).string();
  }
  if (lstat(path.c_str(), &info) == 0)
    throw DataError(
        fmt::format("{}: is a link to a file that is not there: give a new name or a regular file", path));
  return path;
}

bool names_hdf5(const std::string& path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }

void keep_files(const std::vector<std::string>& files, const std::string& output) {
  const std::string target = output_target(output);
  for (const std::string& file : files)
    for (const std::string& written : {target, target + ".part", target + ".new"}) {
      std::error_code absent;
      if (std::filesystem::equivalent(file, written, absent))
        throw ConfigError(fmt::format("writing {} would replace its input {}: give another output", output, file));
    }
}

void write_lines(const std::string& path, const std::function<bool(std::string& text)>& next) {
  OutputFile out(path);
  std::string text;
  for (bool more = true; more;) {
    text.clear();
    more = next(text);
    out.write(text);
  }
  out.close();
}

void write_by_library(const std::string& path, const std::function<void(const std::string& path)>& write) {
  OutputFile out(path);
  write(out.temporary());
  out.close();
}

void write_records(const std::string& path, std::string_view format, const Records& records) {
  const auto* const writer = std::ranges::find(writers, format, &Writer::format);
  verify(writer != std::end(writers), "records are written as libsvm, csv, hdf5, native or mapped");
  verify(records.weight.empty() && records.offset.empty(), "weights and exposures have no place in these formats");
  for (const float y : records.label) verify(!std::isnan(y), "empty slots cannot be written");
  OutputFile out(path);
  Progress progress("writing " + std::filesystem::path(path).filename().string(), records.count, "records");
  writer->write(out, records, progress);
  out.close();
}

}  // namespace dpmpi
