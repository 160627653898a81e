// Features of images are the same on any number of ranks.
#include "data/load/throw_on_all_ranks.hpp"
#include "support/data_files.hpp"
#include "support/images.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::transformed_mpi_test {
namespace {

DataOptions options(const SharedFolder& folder) {
  DataOptions o;
  o.train = folder.file("x") + "," + folder.file("y");
  o.image = "1x9x12";
  o.transform = {"scattering J=2 L=3", "groupnorm 2"};
  o.scale = 1.0 / 255;
  return o;
}

void write_files(const Folder& folder) {
  folder.write("x", striped_images(61, 9, 12));
  folder.write("y", striped_labels(61));
}

TEST(TransformedOnRanks, AreTheSame) {
  for_each_size({1, 2, 3, 5, 8}, [](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill(write_files);
    const DataOptions o = options(folder);
    const std::string expected = dataset_digest(Communicator::alone(), load_all(Communicator::alone(), o));
    EXPECT_EQ(dataset_digest(comm, load_all(comm, o)), expected) << comm.size() << " ranks";
  });
}

TEST(TransformedOnRanks, WrongShapesAreRefusedEverywhere) {
  for_each_size({1, 3}, [](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill(write_files);
    DataOptions o = options(folder);
    o.image = "1x9x11";
    EXPECT_MENTIONS(message_of<ConfigError>([&] { load_all(comm, o); }),
                    "records have 108 features, and images of data.image = 1x9x11 have 99 pixels");
  });
}

}  // namespace
}  // namespace dpmpi::test::transformed_mpi_test
