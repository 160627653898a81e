#include "run/objective/public_start.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "objective/layers/adapter.hpp"
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

void refuse_adapters(const Objective& objective) {
  std::vector<std::string> places;
  for (const ParameterGroup& group : objective.model_groups())
    if (const std::size_t place = group.name.rfind('.');
        is_of_adapter(group.name) && group.name.ends_with(adapter_down) && place != group.name.npos)
      places.push_back(group.name.substr(0, place));
  if (places.empty()) return;
  throw ConfigError(fmt::format(
      "objective.layers: layer{} {}: a layer with an adapter stays as objective.start_model has it: set that, too",
      places.size() > 1 ? "s" : "", fmt::join(places, ", ")));
}

}  // namespace

void give_start(const Communicator& comm, const StartOptions& start, Objective& objective) {
  if (!start.given()) {
    refuse_adapters(objective);
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
