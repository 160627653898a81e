// The rate at which ranks load files, against that of the first of them.
//
//   mpirun -n 2 load_bench REPEATS FILE FILE...
//
// Every repeat loads all files, one after the other, into memory and forgets them; files that were just written are
// in the system's memory. A line for each: the median of its seconds, and of the first file's seconds divided by
// them.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "comm/session.hpp"
#include "data/load/load.hpp"

namespace {

using namespace dpmpi;

double seconds_of(const Communicator& comm, const std::string& file) {
  DataOptions options;
  options.train = file;
  const Dataset dataset = DataFiles(options).training;
  comm.barrier();
  const auto start = std::chrono::steady_clock::now();
  const BlockLayout layout = BlockLayout::of(inspect(comm, dataset), 16);
  const Shard shard = load(comm, dataset, layout, Ownership::even(16, comm.size()), LabelKind::real);
  comm.barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

int compare(const Communicator& comm, int repeats, const std::vector<std::string>& files) {
  std::vector<std::vector<double>> seconds(files.size()), ratios(files.size());
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (std::size_t f = 0; f < files.size(); ++f) {
      seconds[f].push_back(seconds_of(comm, files[f]));
      ratios[f].push_back(seconds[0].back() / seconds[f].back());
    }
  for (std::size_t f = 0; f < files.size() && comm.is_root(); ++f)
    fmt::print("{}: {:.3f} s, rate {:.3f} of the first\n", files[f], median(seconds[f]), median(ratios[f]));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 9;
  const std::vector<std::string> files(argv + std::min(argc, 2), argv + argc);
  dpmpi::Session session(argc, argv);
  return session.run([&](const dpmpi::Communicator& world) { return compare(world, repeats, files); });
}
