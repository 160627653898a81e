// The header of IDX files: a type, the number of dimensions, and each of them, big-endian.

#include <utility>

#include <fmt/format.h>

#include "data/formats/arrays.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr std::pair<unsigned char, Element> types[] = {{0x08, Element::u8},  {0x09, Element::i8},
                                                       {0x0b, Element::i16}, {0x0c, Element::i32},
                                                       {0x0d, Element::f32}, {0x0e, Element::f64}};

Element idx_element(unsigned char code, const std::string& file) {
  for (const auto& [type, element] : types)
    if (type == code) return element;
  refuse_file(
      file,
      fmt::format("IDX element type 0x{:02x} at byte 2 is not allowed: 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e are",
                  code));
}

}  // namespace

ArrayHeader parse_idx_header(std::string_view head, const std::string& file) {
  if (head.size() < 4) refuse_file(file, fmt::format("is cut off inside the IDX header ({} bytes)", head.size()));
  if (head[0] != 0 || head[1] != 0)
    refuse_file(file, fmt::format("is not an IDX file: it starts with {}, not with two zero bytes",
                                  show_field(head.substr(0, 2))));
  ArrayHeader h;
  h.element = idx_element(static_cast<unsigned char>(head[2]), file);
  h.big_endian = true;
  const auto dimensions = static_cast<std::size_t>(static_cast<unsigned char>(head[3]));
  if (dimensions == 0) refuse_file(file, "IDX dimension count 0 at byte 3 is not allowed: 1 or more are");
  h.offset = 4 + 4 * dimensions;
  if (head.size() < h.offset)
    refuse_file(file, fmt::format("is cut off inside the IDX header ({} bytes)", head.size()));
  std::vector<std::uint64_t> shape;
  for (std::size_t i = 0; i < dimensions; ++i)
    shape.push_back(number_at<std::uint32_t>(head.data() + 4 + 4 * i, true));
  h.set_shape(shape, file);
  return h;
}

}  // namespace dpmpi
