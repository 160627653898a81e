#include "comm/broadcast_source.hpp"

#include <string>

#include "core/errors.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::broadcast_source_mpi_test {
namespace {

using test::for_each_size;

// Longer than two pieces, in readings that do and do not end where a piece ends.
TEST(BroadcastSource, GivesTheRootsBytesToAllInAnyPortions) {
  std::string text((std::size_t{2} << 20) + 12'345, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i % 251);
  for_each_size({1, 2, 3, 8}, [&](const Communicator& comm) {
    for (const std::size_t portion : {std::size_t{1'000'003}, std::size_t{1} << 20, text.size()}) {
      TextStream original(text);
      char skipped[5];
      original.read(skipped);
      BroadcastSource source(comm, comm.is_root() ? &original : nullptr);
      ASSERT_EQ(source.left(), text.size() - 5);
      std::string got;
      while (source.left() > 0) {
        std::string piece(std::min<std::size_t>(portion, source.left()), '\0');
        source.read(piece);
        got += piece;
      }
      EXPECT_EQ(got, text.substr(5));
      char one[1];
      EXPECT_THROW(source.read(one), DataError);
    }
  });
}

}  // namespace
}  // namespace dpmpi::broadcast_source_mpi_test
