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
#include "run/directory/files.hpp"

namespace dpmpi {

namespace {

// Under two names, or twice: digests are taken only where sizes are equal.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code absent;
  if (std::filesystem::equivalent(a, b, absent)) return true;
  const auto size = std::filesystem::file_size(a, absent);
  return !absent && size == std::filesystem::file_size(b, absent) && !absent && file_digest(a) == file_digest(b);
}

// Throws PrivacyError if a file of `other`, which option `key` names, is also one of these.
void refuse_training_files(const std::vector<std::string>& private_files, const Dataset& other,
                           const std::string& key, const char* reason) {
  for (const std::string& file : other.paths())
    for (const std::string& train : private_files)
      if (same_file(file, train))
        throw PrivacyError(fmt::format("{} = {} is also a training file: {}", key, file, reason));
}

constexpr const char* unnoised =
    "metrics on private records would be un-noised releases; use a public held-out file, or none";

}  // namespace

void refuse_private_evaluation(const DataFiles& files) {
  refuse_training_files(files.training.paths(), files.scored(), files.scored().key, unnoised);
}

void refuse_private_evaluation(const Dataset& training, const Dataset& scored) {
  refuse_training_files(training.seen(), scored, scored.key, unnoised);
}

void refuse_known_files(const Dataset& training, const Dataset& evaluation, const Dataset& looked_at) {
  refuse_training_files(
      training.seen(), looked_at, looked_at.key,
      "the model has seen its people, so metrics would be too good, and the promise of the training would add to that "
      "of the look. Look at others, or train with data.test_share");
  for (const std::string& file : looked_at.paths())
    for (const std::string& open : evaluation.seen())
      if (same_file(file, open))
        throw ConfigError(fmt::format(
            "{} = {} is data.eval, which is public: evaluate on it without noise, with --data in place of {}",
            looked_at.key, file, looked_at.key));
}

void refuse_private_models(const DataFiles& files) {
  refuse_training_files(
      files.training.paths(), files.models, files.models.key,
      "a record would train the models that score the others, and the losses of all would depend on "
      "it; use a public file that holds none of them");
}

void refuse_private_trainer(const DataFiles& files, const Dataset& of_trainer) {
  refuse_training_files(files.training.paths(), of_trainer, "data.train of objective.trainer",
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

ProgramIdentity program_identity(const std::vector<std::string>& code,
                                 const std::vector<std::string>& public_files) {
  static const std::string program = file_digest("/proc/self/exe");  // it stays what it is while it runs
  std::string features;
  for (const auto& [name, has] :
       {std::pair{"fma", __builtin_cpu_supports("fma")}, std::pair{"avx2", __builtin_cpu_supports("avx2")},
        std::pair{"avx512f", __builtin_cpu_supports("avx512f")}})
    if (has) features += fmt::format(" {}", name);
  std::string text =
      fmt::format("dpmpi {} (program {}), C library {} (functions {}), processor with{}", DPMPI_VERSION,
                  program.substr(0, 12), gnu_get_libc_version(), elementary_functions(), features);
  std::string other_digests;
  for (const auto& file : code) {
    const std::string digest = digest_of_plugin(file);
    other_digests += digest;
    text += fmt::format(", plugin {}", digest.substr(0, 12));
  }
  for (const auto& file : public_files) {
    const std::string digest = file_digest(file);
    other_digests += digest;
    text += fmt::format(", models trained on {}", digest.substr(0, 12));
  }
  return {sha256(program + other_digests + text), text};
}

FileStamps::Stamp FileStamps::stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw DataError(fmt::format("{} cannot be looked at: {}", path, std::strerror(errno)));
  return {path, static_cast<std::uint64_t>(status.st_size), status.st_ino, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

FileStamps::FileStamps(const std::vector<const Dataset*>& datasets) {
  try {
    for (const Dataset* const dataset : datasets)
      for (const std::string& path : dataset->paths()) stamps_.push_back(stamp(path));
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
