#include "core/files/archive.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace dpmpi::archive_test {
namespace {

struct State {
  std::uint64_t step = 0;
  std::vector<double> w;
  std::string text;
  std::vector<float> none;
  void archive(Archive& archive) {
    archive.field("step", step);
    archive.field("w", w);
    archive.field("text", text);
    archive.field("none", none);
  }
};

State some_state() {
  State state{7, std::vector<double>(1000), "words", {}};
  std::iota(state.w.begin(), state.w.end(), 0.5);
  return state;
}

// Notes which pieces are the vector itself.
struct Watch final : ByteSink {
  explicit Watch(const void* what) : expected(what) {}
  void write(std::string_view bytes) override {
    stream.write(bytes);
    if (bytes.data() == expected) whole += bytes.size();
  }
  const void* expected;
  std::size_t whole = 0;
  TextStream stream;
};

TEST(Archive, AStreamHasTheBytesOfAnArchiveInMemory) {
  State state = some_state();
  Archive memory;
  state.archive(memory);
  Watch sink(state.w.data());
  Archive streamed(sink);
  state.archive(streamed);
  EXPECT_EQ(sink.stream.text(), memory.bytes());
  EXPECT_EQ(sink.whole, 8000U) << "a vector goes on from where it is, in one piece";
  EXPECT_EQ(streamed.bytes(), "");
}

TEST(Archive, OneSourceFeedsOneArchiveAfterTheOther) {
  State first = some_state(), second = some_state();
  second.step = 8;
  TextStream stream;
  for (State* state : {&first, &second}) {
    Archive archive(static_cast<ByteSink&>(stream));
    state->archive(archive);
  }
  for (const std::uint64_t step : {7, 8}) {
    State read;
    Archive archive(static_cast<ByteSource&>(stream));
    read.archive(archive);
    EXPECT_EQ(read.step, step);
    EXPECT_EQ(read.w, first.w);
    EXPECT_EQ(read.text, "words");
    if (step == 7) {
      EXPECT_THROW(archive.finish(), DataError) << "the second one is left";
    } else {
      archive.finish();
    }
  }
}

TEST(Archive, WhatIsCutOrOfAnotherKindIsRefusedWhereverItIs) {
  State state = some_state();
  Archive whole;
  state.archive(whole);
  for (std::size_t size = 0; size < whole.bytes().size(); size += size < 100 ? 1 : 997) {
    State read;
    Archive cut(whole.bytes().substr(0, size));
    EXPECT_THROW(read.archive(cut), DataError) << size;
  }
  // The number of entries says more than there is: refused before room is made for them.
  std::string bytes = whole.bytes();
  bytes[bytes.find("w", 28) + 1 + 8 + 7] = '\x7f';
  State read;
  Archive lying(bytes);
  EXPECT_THROW(read.archive(lying), DataError);
  std::uint32_t narrower = 0;
  Archive other(whole.bytes());
  EXPECT_THROW(other.field("step", narrower), DataError);
}

// A source that says that it has no end.
class Endless final : public ByteSource {
 public:
  explicit Endless(std::string beginning) : text_(std::move(beginning)) {}
  void read(std::span<char> out) override {
    text_.copy(out.data(), out.size(), at_);
    at_ += out.size();
  }
  std::uint64_t left() const override { return std::uint64_t{1} << 50; }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

TEST(Archive, TextsAreNoLongerThanTextsAre) {
  Archive written;
  std::uint64_t announced = std::uint64_t{1} << 45;
  written.field("config", announced);
  Endless source(written.bytes());
  Archive archive(source);
  std::string text;
  EXPECT_THROW(archive.field("config", text), DataError);
}

}  // namespace
}  // namespace dpmpi::archive_test
