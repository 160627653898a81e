// What is written of an ONNX graph, byte by byte: others read it, and nothing here does. tests/cli/export_test.cpp
// has a second reader look at whole models.
#include "run/onnx/graph.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "run/onnx/wire.hpp"
#include "support/text.hpp"

namespace dpmpi::graph_test {
namespace {

using test::contains;
using namespace std::string_literals;

std::string all(const OnnxGraph& graph) {
  std::string bytes;
  for (const std::string_view piece : graph.pieces()) bytes += piece;
  return bytes;
}

std::string refusal(OnnxGraph& graph, const std::string& name) {
  try {
    graph.input(name, OnnxType::float64, 1, "");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

// The examples of protobuf.dev/programming-guides/encoding, and the ends of the ranges.
TEST(OnnxWire, FieldsAreThoseOfTheFormat) {
  EXPECT_EQ(WireMessage().whole(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(WireMessage().text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(WireMessage().message(3, WireMessage().whole(1, 150)).bytes(), "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(WireMessage().whole(1, -2).bytes(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(WireMessage().whole(1, 0).bytes(), "\x08\0"s);
  EXPECT_EQ(WireMessage().whole(16, 127).bytes(), "\x80\x01\x7f");
  EXPECT_EQ(WireMessage().whole(1, std::numeric_limits<std::int64_t>::max()).bytes(),
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_EQ(WireMessage().real(2, -0.5F).bytes(), "\x15\0\0\0\xbf"s);
  EXPECT_EQ(WireMessage().begin(7, 300).bytes(), "\x3a\xac\x02");
  EXPECT_EQ(WireMessage().text(1, std::string(200, 'x')).bytes().substr(0, 4), "\x0a\xc8\x01x");
}

TEST(OnnxGraph, ATensorIsLittleEndianAndHasItsShape) {
  OnnxGraph graph;
  const std::vector<float> values{1, -2};
  EXPECT_EQ(graph.constant("w", {1, 2}, std::span<const float>(values)), "w");
  // GraphProto.initializer { dims: 1 dims: 2 data_type: FLOAT name: "w" raw_data: ... }
  EXPECT_TRUE(contains(all(graph), "\x2a\x13\x08\x01\x08\x02\x10\x01\x42\x01w\x4a\x08\0\0\x80\x3f\0\0\0\xc0"s));
}

TEST(OnnxGraph, ANodeHasItsInputsAttributesAndDomain) {
  OnnxGraph graph;
  EXPECT_EQ(graph.node("Gather", {"a", "b"}, {{"axis", std::int64_t{1}}}, "x.y"), "Gather");
  // input: "a" input: "b" output: "Gather" op_type: "Gather" attribute { name: "axis" type: INT i: 1 } domain:
  // "x.y"
  EXPECT_TRUE(contains(all(graph),
                       "\x0a\x01"
                       "a\x0a\x01"
                       "b\x12\x06Gather\x22\x06Gather\x2a\x0b\x0a\x04"
                       "axis\xa0\x01\x02\x18\x01\x3a\x03x.y"s));
}

// Columns keep their names, whatever they are.
TEST(OnnxGraph, NamesDoNotMeet) {
  OnnxGraph graph;
  for (const char* const name : {"score", "IsNaN", "mean"}) EXPECT_EQ(refusal(graph, name), "accepted");
  EXPECT_NE(graph.node("IsNaN", {"score"}), "IsNaN");
  EXPECT_NE(graph.number("mean", 1), "mean");
  EXPECT_NE(graph.node("IsNaN", {"score"}), graph.node("IsNaN", {"score"}));
  EXPECT_EQ(graph.output("IsNaN", "score", OnnxType::float32, 1, ""), "score_");
  EXPECT_EQ(graph.output("IsNaN", "label", OnnxType::float32, 1, ""), "label");
  EXPECT_TRUE(contains(refusal(graph, "score"), "two columns are called 'score'"));
  EXPECT_TRUE(contains(refusal(graph, ""), "without a name"));
  EXPECT_TRUE(contains(refusal(graph, "\xe4ge"), "column '\\xe4ge': names in an ONNX graph are UTF-8"));
}

}  // namespace
}  // namespace dpmpi::graph_test
