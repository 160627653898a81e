// Checkpoints as files: written and read in pieces, and never taken for whole when they are not.
#include "run/directory/checkpoint.hpp"

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace dpmpi::checkpoint_test {
namespace {

namespace fs = std::filesystem;

class CheckpointFile : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(run_);
    fs::create_directories(run_ + "/checkpoint");
    std::iota(state_.begin(), state_.end(), 0.0);
  }
  void write(std::uint64_t step) {
    Checkpoint facts;
    facts.step = step, facts.config = "settings";
    write_checkpoint(run_, key_, facts, [&](Archive& archive) { archive.field("state", state_); });
  }
  /// The step and, if it is whole to the end, its state.
  std::uint64_t read() {
    SavedCheckpoint saved = read_checkpoint(run_, &key_);
    std::vector<double> state;
    Archive archive(saved);
    archive.field("state", state);
    archive.finish();
    saved.finish();
    EXPECT_EQ(state, state_);
    return saved.facts().step;
  }
  void change(std::uintmax_t at) {
    std::fstream file(latest_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(was ^ 1));
  }

  const std::string run_ = ::testing::TempDir() + "dpmpi_CheckpointFile", latest_ = run_ + "/checkpoint/latest";
  const SecretKey key_ = SecretKey::from_seed(1);
  std::vector<double> state_ = std::vector<double>(400'000);  // more than three pieces
};

TEST_F(CheckpointFile, ComesBackWholeWithTheOneBefore) {
  write(1);
  EXPECT_EQ(read(), 1U);
  write(2);
  EXPECT_EQ(read(), 2U);
  fs::remove(latest_);
  EXPECT_EQ(read(), 1U);
  for (const auto& file : fs::directory_iterator(run_ + "/checkpoint"))
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write) << file.path();
}

TEST_F(CheckpointFile, OneBitAnywhereOrACutLeavesTheOneBefore) {
  write(1), write(2);
  const std::uintmax_t size = fs::file_size(latest_);
  for (const std::uintmax_t at : {std::uintmax_t{0}, std::uintmax_t{30}, std::uintmax_t{160}, size / 2, size - 1}) {
    change(at);
    EXPECT_EQ(read(), 1U) << at;
    change(at);
  }
  EXPECT_EQ(read(), 2U);
  for (const std::uintmax_t left :
       {size - 1, size / 2, std::uintmax_t{150}, std::uintmax_t{10}, std::uintmax_t{0}}) {
    fs::resize_file(latest_, left);
    EXPECT_EQ(read(), 1U) << left;
  }
}

TEST_F(CheckpointFile, TheMacIsThatOfTheRunsKey) {
  write(1);
  change(19 + 64);  // a digit of it
  EXPECT_THROW(read_checkpoint(run_, &key_), PrivacyError);
  EXPECT_EQ(read_checkpoint(run_, nullptr).facts().step, 1U);
  change(19 + 64);
  const SecretKey other = SecretKey::from_seed(2);
  EXPECT_THROW(read_checkpoint(run_, &other), PrivacyError);
}

// A write that ended before checksum and MAC were put in place.
TEST_F(CheckpointFile, WhatWasNotSealedIsNoCheckpoint) {
  write(1);
  std::fstream file(latest_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(19);
  file << std::string(128, '0');
  file.close();
  EXPECT_THROW(read_checkpoint(run_, &key_), DataError);
}

// The state is read after the check, from the same file.
TEST_F(CheckpointFile, AChangeBetweenCheckAndReadingIsSeen) {
  write(1);
  SavedCheckpoint saved = read_checkpoint(run_, &key_);
  change(fs::file_size(latest_) - 1000);
  std::vector<double> state;
  Archive archive(saved);
  archive.field("state", state);
  EXPECT_THROW(saved.finish(), DataError);
}

TEST_F(CheckpointFile, AStateThatIsNotReadToItsEndIsRefused) {
  write(1);
  SavedCheckpoint saved = read_checkpoint(run_, &key_);
  EXPECT_THROW(saved.finish(), DataError);
}

}  // namespace
}  // namespace dpmpi::checkpoint_test
