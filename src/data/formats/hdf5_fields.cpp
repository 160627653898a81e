#include "data/formats/hdf5_fields.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "data/formats/hdf5_handle.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t most_datasets = 100'000;

struct Visited {
  std::vector<std::string> datasets;
  bool failed = false;
};

/// Called by the library, which knows no exceptions, for all that the file itself holds.
herr_t add_dataset(hid_t, const char* name, const H5O_info_t* info, void* visited) {
  auto& all = *static_cast<Visited*>(visited);
  try {
    if (info->type == H5O_TYPE_DATASET) all.datasets.emplace_back(name);
  } catch (...) {
    all.failed = true;
  }
  return all.failed || all.datasets.size() > most_datasets ? 1 : 0;
}

std::vector<std::string> datasets_in(const Hdf5Handle& file, const std::string& path) {
  Visited visited;
  const herr_t ended = H5Ovisit2(file.id(), H5_INDEX_NAME, H5_ITER_INC, add_dataset, &visited, H5O_INFO_BASIC);
  if (ended < 0 || visited.failed) refuse_file(path, "the names in it cannot be read: the file is damaged");
  if (ended > 0) refuse_file(path, fmt::format("holds more than {} datasets", most_datasets));
  return visited.datasets;
}

/// What numbers of a type are read as: small unsigned ones as the next wider signed ones, half precision as
/// float32.
std::optional<Element> element_of(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (bytes > 8 || (kind != H5T_FLOAT && kind != H5T_INTEGER && kind != H5T_ENUM)) return {};
  if (kind == H5T_FLOAT) return bytes > 4 ? Element::f64 : Element::f32;
  const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
  if (bytes == 1) return is_signed ? Element::i8 : Element::u8;
  if (bytes == 2) return is_signed ? Element::i16 : Element::i32;
  if (bytes <= 4) return is_signed ? Element::i32 : Element::i64;
  return is_signed ? Element::i64 : Element::u64;
}

/// What is wrong with where the numbers of a dataset are; empty: nothing.
std::string trouble_of_storage(hid_t creation) {
  if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) != 0)
    return "numbers that lie in other files, which are not opened";
  for (unsigned i = 0; static_cast<int>(i) < H5Pget_nfilters(creation); ++i) {
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation, i, nullptr, &values, nullptr, 0, nullptr, nullptr);
    if (H5Zfilter_avail(filter) <= 0)
      return fmt::format("numbers behind filter {}, which is a plugin (h5repack -f GZIP=1 takes another)",
                         static_cast<int>(filter));
  }
  return {};
}

/// A dataset that is looked at.
class Dataset5 {
 public:
  Dataset5(const Hdf5Handle& file, std::string name, const std::string& path)
      : path_(path),
        name_(std::move(name)),
        dataset_(H5Dopen2(file.id(), name_.c_str(), H5P_DEFAULT), H5Dclose, path),
        creation_(H5Dget_create_plist(dataset_.id()), H5Pclose, path) {}

  std::vector<Hdf5Field> fields() const {
    Hdf5Field field{.name = name_, .dataset = name_, .trouble = trouble_of_storage(creation_.id())};
    field.is_lost = !field.trouble.empty();
    if (field.is_lost) return {field};  // asked for more, the library may open other files
    field.shape = shape();
    field.is_lost = !is_written(field.shape);
    if (field.is_lost) field.trouble = "rows that were never written";
    field.is_scale = is_scale();
    for (const char* const attribute : {"_FillValue", "missing_value"})
      for (const long double gap : numbers(attribute))
        if (!std::isnan(gap)) field.gaps.push_back(gap);
    if (const auto scale = numbers("scale_factor"); !scale.empty()) field.scale = static_cast<double>(scale[0]);
    if (const auto offset = numbers("add_offset"); !offset.empty()) field.offset = static_cast<double>(offset[0]);
    const Hdf5Handle type(H5Dget_type(dataset_.id()), H5Tclose, path_);
    if (H5Tget_class(type.id()) == H5T_COMPOUND && field.shape.size() == 1) return members(field, type.id());
    set_element(field, type.id());
    return {field};
  }

 private:
  std::vector<std::uint64_t> shape() const {
    const Hdf5Handle space(H5Dget_space(dataset_.id()), H5Sclose, path_);
    std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.id()))));
    H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
    return {shape.begin(), shape.end()};
  }

  /// The library reads what was never written as zeros.
  bool is_written(const std::vector<std::uint64_t>& shape) const {
    const std::vector<hsize_t> chunk = chunk_of(creation_.id(), shape.size());
    if (chunk.empty()) return H5Dget_storage_size(dataset_.id()) > 0 || std::ranges::count(shape, 0U) > 0;
    std::uint64_t chunks = 1;
    for (std::size_t i = 0; i < chunk.size(); ++i) chunks *= (shape[i] + chunk[i] - 1) / chunk[i];
    const Hdf5Handle space(H5Dget_space(dataset_.id()), H5Sclose, path_);
    hsize_t present = 0;
    return H5Dget_num_chunks(dataset_.id(), space.id(), &present) >= 0 && present == chunks;
  }

  Hdf5Handle attribute(const char* name) const {
    return {H5Aopen(dataset_.id(), name, H5P_DEFAULT), H5Aclose, path_};
  }

  bool is_scale() const {
    if (H5Aexists(dataset_.id(), "CLASS") <= 0) return false;
    const Hdf5Handle of_class = attribute("CLASS");
    const Hdf5Handle type(H5Aget_type(of_class.id()), H5Tclose, path_);
    const Hdf5Handle space(H5Aget_space(of_class.id()), H5Sclose, path_);
    char text[32] = {};
    if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) != 0 ||
        H5Tget_size(type.id()) >= sizeof text || H5Sget_simple_extent_npoints(space.id()) != 1)
      return false;
    return H5Aread(of_class.id(), type.id(), text) >= 0 && std::strcmp(text, "DIMENSION_SCALE") == 0;
  }

  /// Those of an attribute; none if it is not there, or holds something else.
  std::vector<long double> numbers(const char* name) const {
    if (H5Aexists(dataset_.id(), name) <= 0) return {};
    const Hdf5Handle found = attribute(name);
    const Hdf5Handle type(H5Aget_type(found.id()), H5Tclose, path_);
    const Hdf5Handle space(H5Aget_space(found.id()), H5Sclose, path_);
    const hssize_t count = H5Sget_simple_extent_npoints(space.id());
    if (!element_of(type.id()) || count < 1 || count > 1000) return {};
    std::vector<long double> values(static_cast<std::size_t>(count));
    if (H5Aread(found.id(), H5T_NATIVE_LDOUBLE, values.data()) < 0) return {};
    return values;
  }

  static void set_element(Hdf5Field& field, hid_t type) {
    const std::optional<Element> element = element_of(type);
    field.stored = element.value_or(Element::f64);
    field.element = field.packed() ? Element::f64 : field.stored;
    if (field.stored == Element::f32)
      for (long double& gap : field.gaps) gap = static_cast<long double>(static_cast<float>(gap));
    field.is_text = H5Tget_class(type) == H5T_STRING;
    if (field.shape.empty()) field.trouble = "a single value";
    if (!element) field.trouble = "no numbers";
  }

  std::vector<Hdf5Field> members(const Hdf5Field& table, hid_t type) const {
    std::vector<Hdf5Field> all;
    for (unsigned i = 0; static_cast<int>(i) < H5Tget_nmembers(type); ++i) {
      const std::unique_ptr<char, herr_t (*)(void*)> name(H5Tget_member_name(type, i), H5free_memory);
      if (name == nullptr) refuse_file(path_, "the names in it cannot be read: the file is damaged");
      const Hdf5Handle of_member(H5Tget_member_type(type, i), H5Tclose, path_);
      Hdf5Field& field = all.emplace_back(table);
      field.member = name.get();
      field.name += "/" + field.member;
      set_element(field, of_member.id());
    }
    return all;
  }

  const std::string& path_;
  std::string name_;
  Hdf5Handle dataset_, creation_;
};

}  // namespace

Hdf5Cell Hdf5Field::raw_cell() const {
  const bool wide = stored == Element::i64 || stored == Element::u64;
  return {false, wide ? stored : Element::f64, gaps};
}

Hdf5Field Hdf5Field::as_column() const {
  Hdf5Field column = *this;
  if (is_text || scaled()) return column;
  column.element = stored;
  column.gaps.clear();
  return column;
}

Hdf5Cell Hdf5Field::column_cell() const {
  Hdf5Cell cell = as_column().cell();
  if (!is_text && !scaled()) cell.gaps = gaps;
  return cell;
}

std::vector<Hdf5Field> hdf5_fields(const std::string& path) {
  const Hdf5Handle file = open_hdf5(path);
  std::vector<Hdf5Field> all;
  for (std::string& name : datasets_in(file, path))
    for (Hdf5Field& field : Dataset5(file, std::move(name), path).fields()) all.push_back(std::move(field));
  return all;
}

ArrayHeader array_of(const std::vector<Hdf5Field>& fields, const std::string& path) {
  ArrayHeader array;
  std::uint64_t width = 0;
  for (const Hdf5Field& field : fields) {
    ArrayHeader one{.element = field.element};
    one.set_shape(field.shape, path);
    array.element = width == 0 || array.element == one.element ? one.element : Element::f64;
    array.rows = one.rows;
    width += one.width;
  }
  array.width = width;
  return array;
}

}  // namespace dpmpi
