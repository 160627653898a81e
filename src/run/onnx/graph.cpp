#include "run/onnx/graph.hpp"

#include <bit>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"
#include "run/config/recipe.hpp"

namespace dpmpi {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

// Fields of a message, each a place of onnx.proto.
namespace attribute_field {
constexpr std::uint32_t name = 1, f = 2, i = 3, ints = 8, strings = 9, type = 20;
}
namespace attribute_type {
constexpr std::int64_t real = 1, whole = 2, wholes = 7, texts = 8;
}
namespace node_field {
constexpr std::uint32_t input = 1, output = 2, op = 4, attribute = 5, domain = 7;
}
namespace tensor_field {
constexpr std::uint32_t dims = 1, type = 2, strings = 6, name = 8, raw = 9;
}
namespace value_field {
constexpr std::uint32_t name = 1, type = 2, about = 3;
}
namespace graph_field {
constexpr std::uint32_t node = 1, name = 2, constant = 5, input = 11, output = 12;
}

/// `what` it is that the text is, in messages.
void refuse_other_than_utf8(const char* what, const std::string& text) {
  if (!is_utf8(text))
    throw ConfigError(fmt::format("{} {}: names in an ONNX graph are UTF-8, and so are words; this one is not",
                                  what, show(text)));
}

WireMessage attribute_named(std::string_view name, std::int64_t type) {
  WireMessage message;
  return message.text(attribute_field::name, name).whole(attribute_field::type, type);
}

WireMessage tensor_head(std::string_view name, OnnxType type, const OnnxGraph::Shape& shape) {
  WireMessage message;
  for (const std::size_t size : shape) message.whole(tensor_field::dims, static_cast<std::int64_t>(size));
  return message.whole(tensor_field::type, static_cast<std::int64_t>(type)).text(tensor_field::name, name);
}

/// ValueInfoProto of N x columns.
WireMessage value_info(std::string_view name, OnnxType type, std::size_t columns, const std::string& about) {
  WireMessage records, width, shape, tensor, of_type, value;
  records.text(2, "N");
  width.whole(1, static_cast<std::int64_t>(columns));
  shape.message(1, records).message(1, width);
  tensor.whole(1, static_cast<std::int64_t>(type)).message(2, shape);
  of_type.message(1, tensor);
  return value.text(value_field::name, name).message(value_field::type, of_type).text(value_field::about, about);
}

}  // namespace

OnnxAttribute::OnnxAttribute(std::string_view name, std::int64_t value)
    : message_(attribute_named(name, attribute_type::whole).whole(attribute_field::i, value)) {}
OnnxAttribute::OnnxAttribute(std::string_view name, float value)
    : message_(attribute_named(name, attribute_type::real).real(attribute_field::f, value)) {}
OnnxAttribute::OnnxAttribute(std::string_view name, const std::vector<std::int64_t>& values)
    : message_(attribute_named(name, attribute_type::wholes)) {
  for (const std::int64_t value : values) message_.whole(attribute_field::ints, value);
}
OnnxAttribute::OnnxAttribute(std::string_view name, const std::vector<std::string>& values)
    : message_(attribute_named(name, attribute_type::texts)) {
  for (const std::string& value : values) {
    refuse_other_than_utf8("word", value);
    message_.text(attribute_field::strings, value);
  }
}

std::string OnnxGraph::unique(std::string_view name) {
  std::string free(name);
  for (std::size_t n = 2; names_.contains(free); ++n) free = fmt::format("{}_{}", name, n);
  return *names_.insert(free).first;
}

std::string OnnxGraph::input(const std::string& name, OnnxType type, std::size_t columns,
                             const std::string& about) {
  if (name.empty()) throw ConfigError("a column without a name cannot be an input of an ONNX graph: name it");
  refuse_other_than_utf8("column", name);
  if (!names_.insert(name).second)
    throw ConfigError(
        fmt::format("two columns are called {}: inputs of an ONNX graph need names of their own", show(name)));
  inputs_.message(graph_field::input, value_info(name, type, columns, about));
  return name;
}

std::string OnnxGraph::output(const std::string& value, const std::string& name, OnnxType type, std::size_t columns,
                              const std::string& about) {
  std::string free = name;
  while (names_.contains(free)) free += '_';
  names_.insert(free);
  WireMessage identity;
  identity.text(node_field::input, value).text(node_field::output, free).text(node_field::op, "Identity");
  nodes_.message(graph_field::node, identity);
  outputs_.message(graph_field::output, value_info(free, type, columns, about));
  return free;
}

template <class Value>
std::string OnnxGraph::tensor(std::string_view name, OnnxType type, const Shape& shape,
                              std::span<const Value> values) {
  const std::string free = unique(name);
  WireMessage message = tensor_head(free, type, shape);
  message.text(tensor_field::raw, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  constants_.message(graph_field::constant, message);
  return free;
}

std::string OnnxGraph::constant(std::string_view name, const Shape& shape, std::span<const float> values) {
  return tensor(name, OnnxType::float32, shape, values);
}
std::string OnnxGraph::constant(std::string_view name, const Shape& shape, std::span<const double> values) {
  return tensor(name, OnnxType::float64, shape, values);
}
std::string OnnxGraph::constant(std::string_view name, const Shape& shape, std::span<const std::int64_t> values) {
  return tensor(name, OnnxType::int64, shape, values);
}
std::string OnnxGraph::constant(std::string_view name, const Shape& shape, const std::vector<std::string>& values) {
  const std::string free = unique(name);
  WireMessage message = tensor_head(free, OnnxType::text, shape);
  for (const std::string& value : values) {
    refuse_other_than_utf8("word", value);
    message.text(tensor_field::strings, value);
  }
  constants_.message(graph_field::constant, message);
  return free;
}

std::string OnnxGraph::node(std::string_view op, const std::vector<std::string>& inputs,
                            const std::vector<OnnxAttribute>& attributes, std::string_view domain) {
  const std::string result = unique(op);
  WireMessage message;
  for (const std::string& input : inputs) message.text(node_field::input, input);
  message.text(node_field::output, result).text(node_field::op, op);
  for (const OnnxAttribute& attribute : attributes) message.message(node_field::attribute, attribute.message());
  if (!domain.empty()) message.text(node_field::domain, domain);
  nodes_.message(graph_field::node, message);
  return result;
}

std::string OnnxGraph::side_by_side(const std::vector<std::string>& values) {
  return values.size() == 1 ? values.front() : node("Concat", values, {{"axis", std::int64_t{1}}});
}

std::string OnnxGraph::columns(const std::string& value, const std::vector<std::int64_t>& which) {
  const std::string places = constant("columns", {which.size()}, std::span(which));
  return node("Gather", {value, places}, {{"axis", std::int64_t{1}}});
}

std::vector<std::string_view> OnnxGraph::pieces() const {
  static const std::string name = WireMessage().text(graph_field::name, "model").bytes();
  return {nodes_.bytes(), name, constants_.bytes(), inputs_.bytes(), outputs_.bytes()};
}

}  // namespace dpmpi
