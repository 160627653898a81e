#include "run/objective/public_start.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/directory/start_tensors.hpp"

namespace dpmpi {
namespace {

std::vector<float> read_start(const StartOptions& start, const Objective& objective) {
  if (start.path.empty())
    throw DataError(fmt::format("objective.start_model = {} is not here: training starts from it", start.model));
  if (const std::string digest = file_digest(start.path); digest != start.digest)
    throw DataError(fmt::format(
        "objective.start_model = {}: {} is not the file of objective.start_digest: its SHA-256 is {}, where {} was "
        "written down. It was changed since: put it back, or start a new run with the new file",
        start.model, start.path, digest.substr(0, 12), start.digest.substr(0, 12)));
  return read_start_tensors(start.path, objective.model_groups());
}

}  // namespace

void give_start(const Communicator& comm, const StartOptions& start, Objective& objective) {
  if (!start.given()) {
    if (objective.groups().size() < objective.model_groups().size())
      throw ConfigError(
          "objective.layers: layers with an adapter stay as objective.start_model has them: set that, too");
    return;
  }
  std::vector<float> numbers;
  throw_on_all_ranks(comm, [&] {
    if (comm.is_root()) numbers = read_start(start, objective);
  });
  std::uint64_t count = numbers.size();
  comm.broadcast(count);
  numbers.resize(count);
  comm.broadcast(std::span<float>(numbers));
  objective.start_from(std::move(numbers));
}

}  // namespace dpmpi
