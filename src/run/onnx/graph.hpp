#pragma once
// An ONNX graph while it is made: nodes in the order in which they are computed, constants, inputs and outputs.
// Numbers of messages and fields are those of onnx.proto (github.com/onnx/onnx).

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/onnx/wire.hpp"

namespace dpmpi {

/// Types of elements, by TensorProto.DataType.
enum class OnnxType { float32 = 1, int64 = 7, text = 8, boolean = 9, float64 = 11 };

/// An attribute of a node.
class OnnxAttribute {
 public:
  OnnxAttribute(std::string_view name, std::int64_t value);
  OnnxAttribute(std::string_view name, OnnxType type) : OnnxAttribute(name, static_cast<std::int64_t>(type)) {}
  OnnxAttribute(std::string_view name, float value);
  OnnxAttribute(std::string_view name, const std::vector<std::int64_t>& values);
  OnnxAttribute(std::string_view name, const std::vector<std::string>& values);
  const WireMessage& message() const { return message_; }

 private:
  WireMessage message_;
};

/// Values have names; those that are returned are of no input and no output.
class OnnxGraph {
 public:
  using Shape = std::vector<std::size_t>;

  /// A column (N x columns) that whoever uses the model gives. Throws ConfigError for a name that is empty, was
  /// given before, or is no UTF-8.
  std::string input(const std::string& name, OnnxType type, std::size_t columns, const std::string& about);
  /// A value becomes an output, called `name` unless an input is: then `_` is added. Returns how it is called.
  std::string output(const std::string& value, const std::string& name, OnnxType type, std::size_t columns,
                     const std::string& about);

  std::string constant(std::string_view name, const Shape& shape, std::span<const float> values);
  std::string constant(std::string_view name, const Shape& shape, std::span<const double> values);
  std::string constant(std::string_view name, const Shape& shape, std::span<const std::int64_t> values);
  std::string constant(std::string_view name, const Shape& shape, const std::vector<std::string>& values);
  /// One float64, for any shape.
  std::string number(std::string_view name, double value) { return constant(name, {1}, std::span(&value, 1)); }

  std::string node(std::string_view op, const std::vector<std::string>& inputs,
                   const std::vector<OnnxAttribute>& attributes = {}, std::string_view domain = {});
  std::string cast(const std::string& value, OnnxType to) { return node("Cast", {value}, {{"to", to}}); }
  /// Columns of a matrix side by side; of one, itself.
  std::string side_by_side(const std::vector<std::string>& values);
  /// The columns `which` of a matrix.
  std::string columns(const std::string& value, const std::vector<std::int64_t>& which);

  /// The bytes of the GraphProto, in pieces.
  std::vector<std::string_view> pieces() const;

 private:
  std::string unique(std::string_view name);
  template <class Value>
  std::string tensor(std::string_view name, OnnxType type, const Shape& shape, std::span<const Value> values);

  std::set<std::string, std::less<>> names_;
  WireMessage nodes_, constants_, inputs_, outputs_;
};

}  // namespace dpmpi
