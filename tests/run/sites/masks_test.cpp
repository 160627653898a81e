// What hides a site's part: gone in the sum, and uniform for whoever sees the part alone.
#include "run/sites/masks.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::masks_test {
namespace {

struct Sites {
  std::vector<SecretKey> own;
  RoundFile round;
  explicit Sites(std::size_t count) {
    round.config = round.plan = round.run_salt = round.salt = std::string(64, '0');
    round.coordinator = public_key_of(SecretKey::from_system());
    for (std::uint32_t s = 0; s < count; ++s) {
      own.push_back(SecretKey::from_system());
      round.sites.push_back(public_key_of(own.back()));
      round.present.push_back(s);
    }
    round.facts.shards.assign(count, 10);
    round.blocks = static_cast<std::uint32_t>(count);
  }
  std::vector<std::int64_t> masked(std::uint32_t site, std::int64_t value, std::size_t words) const {
    std::vector<std::int64_t> part(words, value);
    add_masks(round, site, own[site], part);
    return part;
  }
};

std::vector<std::int64_t> sum_of(const Sites& sites, const std::vector<std::uint32_t>& who, std::size_t words) {
  std::vector<std::uint64_t> total(words, 0);
  for (const std::uint32_t s : who) {
    const auto part = sites.masked(s, static_cast<std::int64_t>(s) - 1, words);
    for (std::size_t j = 0; j < words; ++j) total[j] += static_cast<std::uint64_t>(part[j]);
  }
  return {total.begin(), total.end()};
}

TEST(Masks, TheSumOfAllPartsHasNone) {
  for (const std::size_t count : {2u, 3u, 5u}) {
    const Sites sites(count);
    const auto n = static_cast<std::int64_t>(count);
    for (const std::size_t words : {1u, 1023u, 1025u, 3000u})
      for (const std::int64_t word : sum_of(sites, sites.round.present, words))
        ASSERT_EQ(word, n * (n - 1) / 2 - n) << count << " " << words;
  }
}

TEST(Masks, TheSumOfThoseWhoArePresentHasNone) {
  Sites sites(4);
  sites.round.present = {0, 2, 3};
  for (const std::int64_t word : sum_of(sites, {0, 2, 3}, 100)) ASSERT_EQ(word, -1 + 1 + 2);
}

TEST(Masks, ASumThatLacksASiteIsAsFarFromZeroAsUniformNumbers) {
  const Sites sites(3);
  int large = 0;
  for (const std::int64_t word : sum_of(sites, {0, 1}, 1000)) large += std::abs(static_cast<double>(word)) > 0x1p60;
  EXPECT_GT(large, 800);  // 875 of 1000 uniform ones
}

// Of equal records behind masks: every bit of a word is set in half of the words, to five deviations, and no two
// words are related to their neighbours.
TEST(Masks, APartAloneLooksUniform) {
  const Sites sites(3);
  constexpr std::size_t words = 1 << 15;
  const double deviation = std::sqrt(words / 4.0);
  for (const std::uint32_t site : sites.round.present) {
    const auto part = sites.masked(site, 123456789, words);
    for (int bit = 0; bit < 64; ++bit) {
      double set = 0, changes = 0;
      for (std::size_t j = 0; j < words; ++j) {
        set += static_cast<double>(static_cast<std::uint64_t>(part[j]) >> bit & 1);
        changes += static_cast<double>(static_cast<std::uint64_t>(part[j] ^ part[(j + 1) % words]) >> bit & 1);
      }
      EXPECT_LT(std::abs(set - words / 2.0), 5 * deviation) << site << " " << bit;
      EXPECT_LT(std::abs(changes - words / 2.0), 5 * deviation) << site << " " << bit;
    }
  }
}

// The same sum twice, of two files: else their difference would be that of the sums.
TEST(Masks, NoTwoFilesShareAMask) {
  Sites sites(2);
  const auto first = sites.masked(0, 0, 2000);
  const auto differs = [&] {
    std::size_t equal = 0, bits = 0;
    const auto other = sites.masked(0, 0, 2000);
    for (std::size_t j = 0; j < other.size(); ++j) {
      equal += other[j] == first[j];
      bits += static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(other[j] ^ first[j])));
    }
    return equal == 0 && std::abs(static_cast<double>(bits) - 64000) < 5 * std::sqrt(128000 / 4.0);
  };
  EXPECT_EQ(sites.masked(0, 0, 2000), first) << "of one file they are the same";
  for (std::string RoundFile::*text : {&RoundFile::salt, &RoundFile::state, &RoundFile::config, &RoundFile::plan}) {
    const std::string before = std::exchange(sites.round.*text, std::string(64, '1'));
    EXPECT_TRUE(differs());
    sites.round.*text = before;
  }
  sites.round.round = 2;
  EXPECT_TRUE(differs());
}

}  // namespace
}  // namespace dpmpi::masks_test
