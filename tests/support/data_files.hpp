#pragma once
// Files for tests of the data layer, and digests of what was loaded.

#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "data/load/load.hpp"

namespace dpmpi::test {

/// A message without the names of a test's files: in those of folders that are made for it, any short text may
/// stand.
inline std::string without_path(std::string message, const std::string& path) {
  for (std::size_t at = 0; (at = message.find(path, at)) != std::string::npos;) message.erase(at, path.size());
  return message;
}

/// A folder that goes away with the object. `suffix` makes it one folder for all ranks of a test.
class Folder {
 public:
  Folder() : path_(unique()) { std::filesystem::create_directories(path_); }
  explicit Folder(const std::string& path) : path_(path) { std::filesystem::create_directories(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// A file of that name is removed before: cutting it would wait for the disk.
  std::string write(const std::string& name, std::string_view bytes) const {
    std::filesystem::remove(file(name));
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::string write_gzip(const std::string& name, std::string_view bytes) const {
    std::filesystem::remove(file(name));
    const gzFile out = gzopen(file(name).c_str(), "wb6");
    gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(out);
    return file(name);
  }

 private:
  static std::string unique() {
    std::string name = std::filesystem::temp_directory_path().string() + "/dpmpi-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    return name;
  }
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The real datasets, if this machine has them.
inline std::optional<std::string> real_data() {
  const char* const folder = std::getenv("DPMPI_DATA");
  return folder == nullptr ? std::nullopt : std::optional<std::string>(folder);
}

/// Every bit of one record: label, norm, and features by column.
inline std::string record_bytes(const Records& r, std::size_t i) {
  std::string out;
  const auto put = [&](auto x) { out.append(reinterpret_cast<const char*>(&x), sizeof x); };
  put(r.label[i]);
  put(r.norm[i]);
  if (!r.weight.empty()) put(r.weight[i]);
  if (!r.offset.empty()) put(r.offset[i]);
  put(r.bias);
  if (r.storage == Storage::sparse_f32)
    for (auto e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) put(r.column[e]), put(r.value[e]);
  if (r.storage == Storage::dense_f32)
    for (std::size_t j = 0; j < r.stride; ++j) put(r.row_f32(i)[j]);
  if (r.storage == Storage::dense_u8) {
    put(r.row_scale[i]);
    for (std::size_t j = 0; j < r.stride; ++j) put(r.row_u8(i)[j]);
  }
  return out;
}

/// Digest of all records of a dataset by global index, on all ranks; verifies that every index is there once.
/// Collective.
inline std::string dataset_digest(const Communicator& comm, const Shard& shard) {
  std::string mine;
  for (const Block& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i)
      mine += fmt::format("{} {}\n", block.first_index + i, sha256(record_bytes(block.records, i)));
  std::string all;
  for (const auto& part : comm.gather(mine)) all += part;
  if (comm.is_root()) {
    std::uint64_t expected = 0;
    std::size_t at = 0;
    for (; at < all.size(); at = all.find('\n', at) + 1)
      verify(std::strtoull(all.c_str() + at, nullptr, 10) == expected++, "records come in global order");
    verify(expected == shard.layout.records, "every record is there once");
  }
  std::string digest = sha256(all);
  comm.broadcast(digest);
  return digest;
}

inline Shard load_all(const Communicator& comm, const Dataset& dataset, LabelKind kind = LabelKind::real,
                      std::size_t classes = 0, std::uint32_t blocks = 8) {
  const DatasetFacts facts = inspect(comm, dataset);
  const BlockLayout layout = BlockLayout::of(facts, blocks);
  Shard shard = load(comm, dataset, layout, Ownership::even(blocks, comm.size()), kind, classes,
                     {SecretKey::from_seed(1), {}});
  verify(shard.facts.features == facts.features && shard.facts.storage == facts.storage,
         "load agrees with inspect");
  return shard;
}

/// The training records.
inline Shard load_all(const Communicator& comm, const DataOptions& options, LabelKind kind = LabelKind::real,
                      std::size_t classes = 0, std::uint32_t blocks = 8) {
  return load_all(comm, DataFiles(options).training, kind, classes, blocks);
}

/// Alone and as one block.
inline Records load_one(const DataOptions& options, LabelKind kind = LabelKind::real, std::size_t classes = 0) {
  return std::move(load_all(Communicator::alone(), options, kind, classes, 1).blocks.at(0).records);
}

/// The message of the E that `work` throws; "" (and a test failure) if it throws nothing or something else.
template <class E = DataError, class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_mentions(const std::string& message, const std::string& part, const char* file, int line) {
  if (message.find(part) == std::string::npos)
    ADD_FAILURE_AT(file, line) << "message: " << message << "\nlacks: " << part;
}
#define EXPECT_MENTIONS(message, part) ::dpmpi::test::expect_mentions(message, part, __FILE__, __LINE__)

}  // namespace dpmpi::test
