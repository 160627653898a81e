#include "run/train/input_checks.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include <gnu/libc-version.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "data/formats/file.hpp"
#include "data/load/load.hpp"
#include "run/directory/files.hpp"

namespace dpmpi {

namespace {

// The training files that this rank can see.
std::vector<std::string> training_files(const DataOptions& data) {
  if (data.shards.empty()) return find_files(data, data.train);
  std::vector<std::string> paths;
  for (const auto& shard : data.shards) {
    try {
      paths.push_back(find_file(data, shard));
    } catch (const DataError&) {  // another site's file, not visible here
    }
  }
  return paths;
}

// Under two names, or twice: digests are taken only where sizes are equal.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code absent;
  if (std::filesystem::equivalent(a, b, absent)) return true;
  const auto size = std::filesystem::file_size(a, absent);
  return !absent && size == std::filesystem::file_size(b, absent) && !absent && file_digest(a) == file_digest(b);
}

/// Throws PrivacyError if one of the files of option `key` is also a training file.
void refuse_training_files(const DataOptions& data, const std::string& key, const std::vector<std::string>& files,
                           const char* reason) {
  const auto training = training_files(data);
  for (const auto& file : files)
    for (const auto& train : training)
      if (same_file(file, train))
        throw PrivacyError(fmt::format("{} = {} is also a training file: {}", key, file, reason));
}

}  // namespace

void refuse_private_evaluation(const DataOptions& data) {
  refuse_training_files(
      data, data.given.empty() ? "data.eval" : "--data", find_files(data, file_of(data, scored_role(data))),
      "metrics on private records would be un-noised releases; use a public held-out file, or none");
}

void refuse_private_models(const DataOptions& data, const std::string& file) {
  refuse_training_files(
      data, "objective.train", find_files(data, file),
      "a record would train the models that score the others, and the losses of all would depend on "
      "it; use a public file that holds none of them");
}

void refuse_private_trainer(const DataOptions& data, const DataOptions& trainer) {
  refuse_training_files(data, "data.train of objective.trainer", training_files(trainer),
                        "models would be scored on the records that trained them; cut the file in two");
}

namespace {

// The C library chooses among several versions of these when a program starts, by processor and by GLIBC_TUNABLES;
// they differ in last bits. So their values are looked at, not the reasons.
std::string elementary_functions() {
  std::vector<double> values;
  for (int i = 1; i <= 2000; ++i) {
    const double x = 0.003 * i;
    const auto y = static_cast<float>(x);
    for (const double value : {std::exp(-x), std::log(x), std::log1p(x), std::tanh(x), std::sin(x), std::cos(x)})
      values.push_back(value);
    for (const float value : {std::exp(-y), std::log(y), std::log1p(y), std::tanh(y)}) values.push_back(value);
  }
  return sha256({reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]}).substr(0, 12);
}

// Without loading it.
std::string digest_of_plugin(const std::string& library) {
  try {
    return file_digest(library, file_limit::library);
  } catch (const DataError& e) {
    throw ConfigError(fmt::format("cannot load the plugin {}: {}", library, e.what()));
  }
}

}  // namespace

ProgramIdentity program_identity(const std::string& plugin, const std::vector<std::string>& public_files) {
  const std::string program = file_digest("/proc/self/exe");
  std::string features;
  for (const auto& [name, has] :
       {std::pair{"fma", __builtin_cpu_supports("fma")}, std::pair{"avx2", __builtin_cpu_supports("avx2")},
        std::pair{"avx512f", __builtin_cpu_supports("avx512f")}})
    if (has) features += fmt::format(" {}", name);
  std::string text =
      fmt::format("dpmpi {} (program {}), C library {} (functions {}), processor with{}", DPMPI_VERSION,
                  program.substr(0, 12), gnu_get_libc_version(), elementary_functions(), features);
  std::string other_digests;
  if (!plugin.empty()) {
    other_digests = digest_of_plugin(plugin);
    text += fmt::format(", plugin {}", other_digests.substr(0, 12));
  }
  for (const auto& file : public_files) {
    const std::string digest = file_digest(file);
    other_digests += digest;
    text += fmt::format(", models trained on {}", digest.substr(0, 12));
  }
  return {sha256(program + other_digests + text), text};
}

std::vector<std::string> files_of_models(const DataOptions& data, const std::string& list) {
  return list.empty() ? std::vector<std::string>() : find_files(data, list);
}

FileStamps::Stamp FileStamps::stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw DataError(fmt::format("{} cannot be looked at: {}", path, std::strerror(errno)));
  return {path, static_cast<std::uint64_t>(status.st_size), status.st_ino, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

FileStamps::FileStamps(const DataOptions& data) {
  try {
    for (const auto& path : training_files(data)) stamps_.push_back(stamp(path));
    if (!data.eval.empty())
      for (const auto& path : find_files(data, data.eval)) stamps_.push_back(stamp(path));
  } catch (const DataError&) {  // loading says better what is wrong with a file, and where it was looked for
  }
}

void FileStamps::check() const {
  for (const auto& before : stamps_) {
    const Stamp now = stamp(before.path);
    if (now.size != before.size || now.inode != before.inode || now.seconds != before.seconds ||
        now.nanoseconds != before.nanoseconds)
      throw DataError(
          fmt::format("{} was changed while it was read: let its writer finish, then start again", before.path));
  }
}

}  // namespace dpmpi
