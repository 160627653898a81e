// The header of NumPy's .npy files: a magic number, a version, and a Python dictionary as text.

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/arrays.hpp"
#include "data/formats/file.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// The text behind 'key': in the dictionary.
std::string_view item(std::string_view dictionary, std::string_view key, const std::string& file) {
  const std::size_t at = dictionary.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) refuse_file(file, fmt::format(".npy header has no '{}'", key));
  return trim(dictionary.substr(at + key.size() + 3));
}

constexpr std::pair<std::string_view, Element> descriptors[] = {
    {"u1", Element::u8},  {"b1", Element::u8},  {"i1", Element::i8},  {"i2", Element::i16},
    {"i4", Element::i32}, {"i8", Element::i64}, {"f4", Element::f32}, {"f8", Element::f64}};

void set_element(ArrayHeader& h, std::string_view text, const std::string& file) {
  const std::string_view name = text.size() >= 5 && text[0] == '\'' ? text.substr(1, 3) : std::string_view{};
  const std::string_view type = name.size() == 3 && text[4] == '\'' ? name.substr(1) : std::string_view{};
  h.big_endian = !name.empty() && name[0] == '>';
  for (const auto& [known, element] : descriptors)
    if (type == known) return void(h.element = element);
  refuse_file(file, fmt::format(".npy element type {} is not allowed: b1 u1 i1 i2 i4 i8 f4 f8 are",
                                show_field(text.substr(0, text.find(',')))));
}

std::vector<std::uint64_t> shape_of(std::string_view text, const std::string& file) {
  std::vector<std::uint64_t> shape;
  const std::size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos)
    refuse_file(file, ".npy header has a malformed shape");
  text = text.substr(1, close - 1);
  while (!(text = trim(text)).empty()) {
    std::uint64_t n = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{})
      refuse_file(file, fmt::format(".npy header has a malformed shape at {}", show_field(text)));
    shape.push_back(n);
    text = trim(text.substr(static_cast<std::size_t>(rest - text.data())));
    if (!text.empty() && text[0] != ',')
      refuse_file(file, fmt::format(".npy header has a malformed shape at {}", show_field(text)));
    if (!text.empty()) text.remove_prefix(1);
  }
  if (shape.empty()) refuse_file(file, ".npy array is a scalar; an array with one row a record is expected");
  return shape;
}

}  // namespace

ArrayHeader parse_npy_header(std::string_view head, const std::string& file) {
  if (!head.starts_with("\x93NUMPY"))
    refuse_file(file, fmt::format("is not a .npy file: it starts with {}", show_field(head.substr(0, 6))));
  if (head.size() < 12) refuse_file(file, fmt::format("is cut off inside the .npy header ({} bytes)", head.size()));
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(head[i])); };
  if (byte(6) < 1 || byte(6) > 3)
    refuse_file(file, fmt::format(".npy version {} at byte 6 is not allowed: 1 to 3 are", byte(6)));
  const bool short_length = byte(6) == 1;
  const std::size_t start = short_length ? 10 : 12;
  const std::size_t length = byte(8) + (byte(9) << 8) + (short_length ? 0 : (byte(10) << 16) + (byte(11) << 24));
  if (head.size() < start || head.size() - start < length) refuse_file(file, "is cut off inside the .npy header");
  const std::string_view dictionary = head.substr(start, length);
  ArrayHeader h;
  h.offset = start + length;
  set_element(h, item(dictionary, "descr", file), file);
  if (!item(dictionary, "fortran_order", file).starts_with("False"))
    refuse_file(file, "is in Fortran order; save it with numpy.ascontiguousarray");
  h.set_shape(shape_of(item(dictionary, "shape", file), file), file);
  return h;
}

std::string npy_header(std::uint64_t rows, std::uint64_t width) {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, width);
  constexpr std::size_t magic = 10, alignment = 64;  // the data begin at a multiple of 64 bytes
  text.resize((magic + text.size() + 1 + alignment - 1) / alignment * alignment - magic - 1, ' ');
  text += '\n';
  const char size[] = {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(size, 2) + text;
}

}  // namespace dpmpi
