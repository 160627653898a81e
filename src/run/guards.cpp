#include "dpmpi/run/guards.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/file.hpp"
#include "dpmpi/run/files.hpp"

namespace dpmpi {

void refuse_private_evaluation(const DataOptions& data) {
  namespace fs = std::filesystem;
  const auto files = [&](const std::string& list) {
    std::vector<std::string> paths;
    for (std::size_t from = 0; from <= list.size();) {
      const std::size_t comma = std::min(list.find(',', from), list.size());
      paths.push_back(find_file(data, list.substr(from, comma - from)));
      from = comma + 1;
    }
    return paths;
  };
  std::vector<std::string> training = data.shards.empty() ? files(data.train) : std::vector<std::string>();
  for (const auto& shard : data.shards) {
    try {
      training.push_back(find_file(data, shard));
    } catch (const DataError&) {  // another site's file, not visible here
    }
  }
  for (const auto& eval : files(data.eval))
    for (const auto& train : training) {
      std::error_code absent;
      if (fs::equivalent(eval, train, absent))
        throw PrivacyError(
            fmt::format("data.eval = {} is also a training file: metrics on private records would be un-noised "
                        "releases; use a public held-out file, or none",
                        eval));
    }
}

std::string program_digest() {
  Sha256 digest;
  digest.update(read_file("/proc/self/exe"));
  digest.update(fmt::format("{}{}{}", __builtin_cpu_supports("fma"), __builtin_cpu_supports("avx2"),
                            __builtin_cpu_supports("avx512f")));
  return digest.hex();
}

}  // namespace dpmpi
