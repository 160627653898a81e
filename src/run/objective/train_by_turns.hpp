#pragma once
// Trainings of models that ranks share.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"

namespace dpmpi {

/// Fills `models`, `size` numbers each: train(p, model) is called for model p on rank p mod comm.size(), which
/// sends it to all. The same bits on any number of ranks. A model whose first number is NaN counts as failed.
/// Collective.
template <class T, class Train>
void train_by_turns(const Communicator& comm, std::size_t size, std::span<T> models, Train&& train) {
  using Bits = std::conditional_t<sizeof(T) == sizeof(std::int64_t), std::int64_t, std::uint32_t>;
  const std::size_t count = models.size() / size;
  const auto rank = static_cast<std::size_t>(comm.rank()), ranks = static_cast<std::size_t>(comm.size());
  Progress progress("training models", count, "models");
  for (std::size_t p = rank; p < count; p += ranks) {
    train(p, models.subspan(p * size, size));
    progress.add(std::min(ranks, count - p));
  }
  // Every number was written by one rank and is zero on the others: the integer sum of their bits is its bits.
  std::vector<std::int64_t> bits(size);
  std::size_t failed = 0;
  for (std::size_t p = 0; p < count; ++p) {
    const std::span<T> model = models.subspan(p * size, size);
    const bool own = p % ranks == rank;
    for (std::size_t i = 0; i < size; ++i) bits[i] = own ? std::bit_cast<Bits>(model[i]) : 0;
    comm.sum(bits);
    for (std::size_t i = 0; i < size; ++i) model[i] = std::bit_cast<T>(static_cast<Bits>(bits[i]));
    if (std::isnan(model[0])) ++failed;
  }
  if (failed > 0 && comm.is_root())
    warn("{} of {} models could not be trained (singular, or diverged): their losses are no numbers", failed,
         count);
}

}  // namespace dpmpi
