#include "objective/copy_rows.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/property_case.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test::copy_rows_test {
namespace {

constexpr std::size_t features = 17, stride = 32;

template <class T>
void check_left_out(const Records& records) {
  const auto index = all_rows(records);
  const Rows rows{records, index};
  std::vector<T> whole(rows.size() * stride), part(whole.size(), T{7});
  copy_rows(rows, stride, whole.data());
  for (const std::size_t left_out : {0, 5, 16}) {
    copy_rows(rows, stride, part.data(), left_out);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<T> expected(whole.begin() + static_cast<std::ptrdiff_t>(i * stride),
                              whole.begin() + static_cast<std::ptrdiff_t>((i + 1) * stride));
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(left_out));
      expected.push_back(0);
      EXPECT_EQ(expected, std::vector<T>(part.begin() + static_cast<std::ptrdiff_t>(i * stride),
                                         part.begin() + static_cast<std::ptrdiff_t>((i + 1) * stride)));
    }
  }
  EXPECT_THROW(copy_rows(rows, stride, part.data(), features), BugError);
}

TEST(CopyRows, AFeatureIsLeftOutOfEveryStorage) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
    for (const float bias : {0.0F, 1.5F}) {
      const Records records = random_records({.storage = storage, .features = features, .bias = bias});
      check_left_out<float>(records);
      check_left_out<double>(records);
    }
}

// 16 features and the constant without one of them fit into 16 numbers.
TEST(CopyRows, ARowIsAsWideAsWhatIsKept) {
  const Records records = random_records({.count = 3, .features = 16});
  const auto index = all_rows(records);
  std::vector<float> out(3 * 16);
  copy_rows({records, index}, 16, out.data(), 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out[16 * i + 15], records.bias);
  EXPECT_THROW(copy_rows({records, index}, 16, out.data()), BugError);
}

}  // namespace
}  // namespace dpmpi::test::copy_rows_test
