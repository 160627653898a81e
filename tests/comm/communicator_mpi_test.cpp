#include "comm/communicator.hpp"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::communicator_mpi_test {
namespace {

using test::for_each_size;

TEST(Communicator, SumsAreExactWithAnySplitting) {
  for (const std::size_t limit : {std::size_t{1} << 30, std::size_t{7}}) {
    Communicator::set_chunk_limit(limit);
    for_each_size({1, 2, 3, 4, 5, 8}, [](const Communicator& comm) {
      std::vector<std::int64_t> values(1000);
      for (std::size_t j = 0; j < values.size(); ++j)
        values[j] = (comm.rank() + 1) * ((std::int64_t{1} << 50) + static_cast<std::int64_t>(j));
      auto everywhere = values;
      comm.sum_to_root(values);
      comm.sum(everywhere);
      const std::int64_t factor = comm.size() * (comm.size() + 1) / 2;
      for (std::size_t j = 0; j < values.size(); ++j) {
        const std::int64_t expected = factor * ((std::int64_t{1} << 50) + static_cast<std::int64_t>(j));
        if (comm.is_root()) {
          ASSERT_EQ(values[j], expected);
        }
        ASSERT_EQ(everywhere[j], expected);
      }
    });
  }
  Communicator::set_chunk_limit(std::size_t{1} << 30);
}

// Of every rank to every rank, empty messages and long ones, whatever the pieces.
TEST(Communicator, ExchangesBringEachPartToItsRankAlone) {
  const auto part = [](int from, int to) {
    return std::string(static_cast<std::size_t>(from == to ? 3 : (from * 7 + to * 3) % 5 * 40'000),
                       static_cast<char>('a' + from)) +
           std::to_string(to);
  };
  for (const std::size_t limit : {std::size_t{1} << 30, std::size_t{1000}}) {
    Communicator::set_chunk_limit(limit);
    for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
      for (int round = 0; round < 3; ++round) {
        std::vector<std::string> parts;
        for (int r = 0; r < comm.size(); ++r) parts.push_back(round == 1 ? "" : part(comm.rank(), r));
        const auto received = comm.exchange(std::move(parts));
        ASSERT_EQ(received.size(), static_cast<std::size_t>(comm.size()));
        for (int r = 0; r < comm.size(); ++r)
          ASSERT_EQ(received[static_cast<std::size_t>(r)], round == 1 ? "" : part(r, comm.rank()));
      }
    });
  }
  Communicator::set_chunk_limit(std::size_t{1} << 30);
}

// A lattice sum is the same whether it travels narrow or wide, and whatever its length. Each rank adds numbers of
// 64 bits to a piece of it at the end, as if they were noise: coordinate j gets j 2^33, once.
TEST(Communicator, LatticeSumsAreExactNarrowAndWide) {
  for_each_size({1, 2, 3, 5, 8}, [](const Communicator& comm) {
    for (const std::size_t dim : {std::size_t{1}, std::size_t{17}, std::size_t{40000}})
      for (const int spills : {0, 3}) {
        LatticeAccumulator sum(dim, Lattice{20}, 8.5, 2);
        sum.clear();
        const auto rows = static_cast<std::size_t>(spills) * sum.rows_at_once() + 5;
        const std::vector<float> one(dim, 0.5f + static_cast<float>(comm.rank()));
        for (std::size_t i = 0; i < rows; ++i) sum.begin(1), sum.add(0, std::span<const float>(one));
        EXPECT_EQ(sum.narrow().empty(), spills > 0);
        const auto piece = [&](int rank) {
          return dim * static_cast<std::size_t>(rank) / static_cast<std::size_t>(comm.size()) / 8 * 8;
        };
        const std::size_t first = piece(comm.rank()),
                          last = comm.rank() + 1 == comm.size() ? dim : piece(comm.rank() + 1);
        sum.finish(first, last, [](std::size_t at, std::span<std::int64_t> total) {
          for (std::size_t i = 0; i < total.size(); ++i) total[i] += static_cast<std::int64_t>(at + i) << 33;
        });
        EXPECT_EQ(sum.narrow().size(), spills > 0 ? 0 : first) << "what is before it";
        sum.extra()[0] = comm.rank(), sum.extra()[1] = 1;
        comm.sum_to_root(sum);
        if (!comm.is_root()) continue;
        double halves = 0;  // 0.5 + rank, summed
        for (int r = 0; r < comm.size(); ++r) halves += 0.5 + r;
        const auto totals = sum.totals();
        for (std::size_t j = 0; j < dim; ++j)
          ASSERT_EQ(totals[j] - (static_cast<std::int64_t>(j) << 33),
                    std::llrint(static_cast<double>(rows) * halves * 0x1p20));
        EXPECT_EQ(sum.extra()[0], comm.size() * (comm.size() - 1) / 2);
        EXPECT_EQ(sum.extra()[1], comm.size());
      }
  });
}

TEST(Communicator, MovesBytesInOrder) {
  for (const std::size_t limit : {std::size_t{1} << 30, std::size_t{5}}) {
    Communicator::set_chunk_limit(limit);
    for_each_size({1, 2, 3, 5, 8}, [](const Communicator& comm) {
      std::string text = comm.is_root() ? std::string(100, 'x') + "end" : "";
      comm.broadcast(text);
      EXPECT_EQ(text, std::string(100, 'x') + "end");
      std::vector<float> numbers(33, comm.is_root() ? 2.5f : 0.f);
      comm.broadcast(std::span<float>(numbers));
      EXPECT_EQ(numbers, std::vector<float>(33, 2.5f));

      const auto all =
          comm.gather(std::string(static_cast<std::size_t>(comm.rank()) * 9, static_cast<char>('a' + comm.rank())));
      std::vector<std::string> parts;
      if (comm.is_root()) {
        ASSERT_EQ(all.size(), static_cast<std::size_t>(comm.size()));
        for (std::size_t r = 0; r < all.size(); ++r)
          EXPECT_EQ(all[r], std::string(r * 9, static_cast<char>('a' + r)));
        parts = all;
      }
      EXPECT_EQ(comm.scatter(parts).size(), static_cast<std::size_t>(comm.rank()) * 9);
    });
  }
  Communicator::set_chunk_limit(std::size_t{1} << 30);
}

TEST(Communicator, AnyAndAgree) {
  for_each_size({1, 2, 3, 4, 8}, [](const Communicator& comm) {
    EXPECT_FALSE(comm.any(false));
    EXPECT_TRUE(comm.any(comm.rank() == comm.size() - 1));
    EXPECT_NO_THROW(comm.agree("same", "the test"));
    if (comm.size() == 1) return;
    try {
      comm.agree(comm.rank() == 1 ? "odd" : "even", "the test");
      ADD_FAILURE() << "must throw on every rank";
    } catch (const CommError& e) {
      EXPECT_NE(std::string(e.what()).find("disagree on the test: rank 1 differs"), std::string::npos) << e.what();
    }
  });
}

}  // namespace
}  // namespace dpmpi::communicator_mpi_test
