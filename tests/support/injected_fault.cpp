#include "support/injected_fault.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/numbers/random.hpp"
#include "data/records/sampling.hpp"
#include "privacy/curator/query.hpp"

namespace dpmpi {
namespace {

using test::Fault;
Fault present = Fault::none;

}  // namespace

// The product's own functions. A name that is out of date does not link.
#define DPMPI_NORMALS "_ZN5dpmpi12SecretStream7normalsEmjmSt4spanIdLm18446744073709551615EE"
#define DPMPI_DECLARE "_ZN5dpmpi5Query7declareERKNS_9QuerySpecEjNS_9AdjacencyEm"
#define DPMPI_SELECT                                                                                \
  "_ZN5dpmpi6selectERKSt7variantIJNS_7PoissonENS_18WithoutReplacementENS_9FullBatchENS_6CyclicENS_" \
  "13CyclicPoissonENS_11BallsInBinsENS_8ShuffledENS_8DisjointEEEmmRNS_12SecretStreamEjmmRSt6vectorIjSaIjEE"

void real_normals(SecretStream* stream, std::uint64_t step, std::uint32_t site, std::uint64_t first,
                  std::span<double> out) __asm__("__real_" DPMPI_NORMALS);
Query real_declare(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency,
                   std::uint64_t records) __asm__("__real_" DPMPI_DECLARE);
void real_select(const SamplingRule& rule, std::uint64_t first_index, std::uint64_t count, SecretStream& stream,
                 std::uint32_t site, std::uint64_t step, std::uint64_t quota,
                 std::vector<std::uint32_t>& out) __asm__("__real_" DPMPI_SELECT);

void normals(SecretStream* stream, std::uint64_t step, std::uint32_t site, std::uint64_t first,
             std::span<double> out) __asm__("__wrap_" DPMPI_NORMALS);
void normals(SecretStream* stream, std::uint64_t step, std::uint32_t site, std::uint64_t first,
             std::span<double> out) {
  if (present == Fault::noise_of_directions) return PublicStream(1, "directions", step).normals(first, out);
  if (present == Fault::noise_copied) {
    std::array<double, 8> block;
    real_normals(stream, step, site, 0, block);
    return std::fill(out.begin(), out.end(), block[0]);
  }
  real_normals(stream, present == Fault::noise_reused ? 0 : step, site, first, out);
  if (present == Fault::noise_faint)
    for (double& normal : out) normal /= 8;
}

Query declare(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency,
              std::uint64_t records) __asm__("__wrap_" DPMPI_DECLARE);
Query declare(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency, std::uint64_t records) {
  Query query = real_declare(spec, site, adjacency, records);
  if (present == Fault::clip_for_twice_clip && adjacency == Adjacency::replace_one)
    query.sensitivity /= 2, query.noise_std /= 2;
  return query;
}

// Pass p of 1 / q steps: who takes part in which of them is secret, but everybody does once.
void select_by_fault(const SamplingRule& rule, std::uint64_t first_index, std::uint64_t count, SecretStream& stream,
                     std::uint32_t site, std::uint64_t step, std::uint64_t quota,
                     std::vector<std::uint32_t>& out) __asm__("__wrap_" DPMPI_SELECT);
void select_by_fault(const SamplingRule& rule, std::uint64_t first_index, std::uint64_t count, SecretStream& stream,
                     std::uint32_t site, std::uint64_t step, std::uint64_t quota, std::vector<std::uint32_t>& out) {
  const auto* poisson = std::get_if<Poisson>(&rule);
  if (present != Fault::shuffled || poisson == nullptr)
    return real_select(rule, first_index, count, stream, site, step, quota, out);
  const auto parts = static_cast<std::uint64_t>(std::lround(1 / poisson->rate));
  SecretReader order(stream, step / parts, site);
  const std::uint64_t turn = order.below(parts);
  out.clear();
  for (std::uint64_t i = 0; i < count; ++i)
    if ((first_index + i + turn) % parts == step % parts) out.push_back(static_cast<std::uint32_t>(i));
}

namespace test {

Injected::Injected(Fault fault) { present = fault; }
Injected::~Injected() { present = Fault::none; }

}  // namespace test
}  // namespace dpmpi
