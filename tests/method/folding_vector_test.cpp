#include "method/folding_vector.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::folding_vector_test {
namespace {

TEST(FoldingVector, ShowsTheRoundedNumbersInTheSameMemory) {
  for (const std::size_t n : {0U, 1U, 2U, 3U, 1001U}) {
    FoldingVector v;
    v.resize(n);
    std::vector<double> exact(n);
    for (std::size_t j = 0; j < n; ++j) v.doubles()[j] = exact[j] = 1.0 / (static_cast<double>(j) - 7.5);
    const void* const place = v.doubles().data();
    const auto shown = v.floats();
    ASSERT_EQ(shown.size(), n);
    EXPECT_EQ(static_cast<const void*>(shown.data()), place);
    for (std::size_t j = 0; j < n; ++j) EXPECT_EQ(shown[j], static_cast<float>(exact[j])) << j;
    for (std::size_t j = 0; j < n; ++j) EXPECT_EQ(v.doubles()[j], static_cast<float>(exact[j])) << j;
  }
}

TEST(FoldingVector, KeepsFloat32NumbersHoweverOftenItFolds) {
  FoldingVector v;
  v.resize(5);
  const auto start = v.floats();
  for (std::size_t j = 0; j < 5; ++j) start[j] = 0.1F * static_cast<float>(j);
  for (int i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(v.doubles()[j], 0.1F * static_cast<float>(j));
    for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(v.floats()[j], 0.1F * static_cast<float>(j));
  }
}

}  // namespace
}  // namespace dpmpi::folding_vector_test
