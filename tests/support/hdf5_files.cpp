#include "support/hdf5_files.hpp"

#include <hdf5.h>

#include <stdexcept>

#include <fmt/format.h>

namespace dpmpi::test {
namespace {

hid_t done(hid_t id) {
  if (id < 0) throw std::runtime_error("a file of a test cannot be written");
  return id;
}

/// float16, which the library does not name.
hid_t half() {
  const hid_t type = done(H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

/// Two words for `no` and 1.
hid_t truth(std::int8_t no) {
  const hid_t type = done(H5Tenum_create(H5T_STD_I8LE));
  const std::int8_t yes = 1;
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  return type;
}

/// The caller closes it.
hid_t type_called(std::string name) {
  const bool big = name[0] == '>';
  if (big) name.erase(0, 1);
  if (name == "f2") return half();
  if (name == "b1" || name == "e1") return truth(name == "b1" ? 0 : -1);
  const std::pair<const char*, hid_t> types[] = {
      {"u1", H5T_STD_U8LE},   {"i1", H5T_STD_I8LE},   {"u2", H5T_STD_U16LE},      {"i2", H5T_STD_I16LE},
      {"u4", H5T_STD_U32LE},  {"i4", H5T_STD_I32LE},  {"u8", H5T_STD_U64LE},      {"i8", H5T_STD_I64LE},
      {"f4", H5T_IEEE_F32LE}, {"f8", H5T_IEEE_F64LE}, {"g16", H5T_NATIVE_LDOUBLE}};
  for (const auto& [known, type] : types)
    if (name == known) {
      const hid_t copy = done(H5Tcopy(type));
      if (big) H5Tset_order(copy, H5T_ORDER_BE);
      return copy;
    }
  throw std::runtime_error("no type " + name);
}

std::vector<hsize_t> sizes(const NewHdf5::Shape& shape) { return {shape.begin(), shape.end()}; }

hid_t space_of(const NewHdf5::Shape& shape) {
  return done(shape.empty() ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(shape.size()), sizes(shape).data(), nullptr));
}

hid_t creation_of(const NewHdf5::Storing& storing) {
  const hid_t creation = done(H5Pcreate(H5P_DATASET_CREATE));
  if (!storing.chunk.empty())
    H5Pset_chunk(creation, static_cast<int>(storing.chunk.size()), sizes(storing.chunk).data());
  if (storing.packed) H5Pset_shuffle(creation), H5Pset_deflate(creation, 1);
  if (storing.plugin != 0) H5Pset_filter(creation, storing.plugin, H5Z_FLAG_OPTIONAL, 0, nullptr);
  if (!storing.elsewhere.empty()) H5Pset_external(creation, storing.elsewhere.c_str(), 0, H5F_UNLIMITED);
  return creation;
}

}  // namespace

NewHdf5::NewHdf5(const std::string& path)
    : file_(done(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))),
      with_groups_(done(H5Pcreate(H5P_LINK_CREATE))) {
  H5Pset_create_intermediate_group(with_groups_, 1);
}

NewHdf5::~NewHdf5() {
  H5Pclose(with_groups_);
  H5Fclose(file_);
}

void NewHdf5::add(const std::string& name, const std::string& type, const Shape& shape,
                  const std::vector<double>& numbers, const Storing& storing) {
  const hid_t stored = type_called(type), space = space_of(shape), creation = creation_of(storing);
  const hid_t dataset = done(H5Dcreate2(file_, name.c_str(), stored, space, with_groups_, creation, H5P_DEFAULT));
  if (type == "b1" || type == "e1") {
    const std::vector<std::int8_t> bytes(numbers.begin(), numbers.end());
    done(H5Dwrite(dataset, stored, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
  } else if (storing.written && !numbers.empty()) {
    done(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()));
  }
  H5Dclose(dataset), H5Pclose(creation), H5Sclose(space), H5Tclose(stored);
}

void NewHdf5::add_words(const std::string& name, const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  for (const std::string& word : words) texts.push_back(word.c_str());
  const hid_t type = done(H5Tcopy(H5T_C_S1)), space = space_of({words.size()});
  H5Tset_size(type, H5T_VARIABLE);
  const hid_t dataset = done(H5Dcreate2(file_, name.c_str(), type, space, with_groups_, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()));
  H5Dclose(dataset), H5Sclose(space), H5Tclose(type);
}

void NewHdf5::add_fixed_words(const std::string& name, const std::vector<std::string>& words, std::size_t length,
                              bool blanks, std::uint64_t columns) {
  std::string bytes;
  for (std::string word : words) {
    word.resize(length, blanks ? ' ' : '\0');
    bytes += word;
  }
  const hid_t type = done(H5Tcopy(H5T_C_S1));
  const hid_t space = space_of(columns == 0 ? Shape{words.size()} : Shape{words.size() / columns, columns});
  H5Tset_size(type, length);
  H5Tset_strpad(type, blanks ? H5T_STR_SPACEPAD : H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const hid_t dataset = done(H5Dcreate2(file_, name.c_str(), type, space, with_groups_, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
  H5Dclose(dataset), H5Sclose(space), H5Tclose(type);
}

void NewHdf5::add_integers(const std::string& name, const std::vector<std::uint64_t>& numbers) {
  const hid_t space = space_of({numbers.size()});
  const hid_t dataset =
      done(H5Dcreate2(file_, name.c_str(), H5T_STD_U64LE, space, with_groups_, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()));
  H5Dclose(dataset), H5Sclose(space);
}

void NewHdf5::add_people(const std::string& name, const std::vector<std::string>& members,
                         const std::vector<Person>& people) {
  const hid_t any = done(H5Tcopy(H5T_C_S1)), eight = done(H5Tcopy(H5T_C_S1));
  H5Tset_size(any, H5T_VARIABLE), H5Tset_size(eight, sizeof Person::name);
  const hid_t type = done(H5Tcreate(H5T_COMPOUND, sizeof(Person)));
  H5Tinsert(type, members.at(0).c_str(), HOFFSET(Person, number), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, members.at(1).c_str(), HOFFSET(Person, word), any);
  H5Tinsert(type, members.at(2).c_str(), HOFFSET(Person, name), eight);
  const hid_t space = space_of({people.size()});
  const hid_t dataset = done(H5Dcreate2(file_, name.c_str(), type, space, with_groups_, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, people.data()));
  H5Dclose(dataset), H5Sclose(space), H5Tclose(type), H5Tclose(eight), H5Tclose(any);
}

void NewHdf5::add_table(const std::string& name, const std::vector<std::pair<std::string, std::string>>& members,
                        const std::vector<double>& numbers) {
  std::size_t bytes = 0;
  std::vector<hid_t> types;
  for (const auto& [member, type] : members) bytes += H5Tget_size(types.emplace_back(type_called(type)));
  const hid_t stored = done(H5Tcreate(H5T_COMPOUND, bytes + 3));  // with a gap behind it
  const hid_t memory = done(H5Tcreate(H5T_COMPOUND, members.size() * sizeof(double)));
  bytes = 0;
  for (std::size_t m = 0; m < members.size(); bytes += H5Tget_size(types[m++])) {
    done(H5Tinsert(stored, members[m].first.c_str(), bytes, types[m]));
    done(H5Tinsert(memory, members[m].first.c_str(), m * sizeof(double), H5T_NATIVE_DOUBLE));
  }
  const hid_t space = space_of({numbers.size() / members.size()});
  const hid_t dataset =
      done(H5Dcreate2(file_, name.c_str(), stored, space, with_groups_, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()));
  for (const hid_t type : types) H5Tclose(type);
  H5Dclose(dataset), H5Sclose(space), H5Tclose(memory), H5Tclose(stored);
}

void NewHdf5::add_value(const std::string& name, double value) { add(name, "f8", {}, {value}); }

void NewHdf5::add_virtual(const std::string& name, std::uint64_t rows, const std::string& file,
                          const std::string& of) {
  const hid_t creation = done(H5Pcreate(H5P_DATASET_CREATE)), space = space_of({rows});
  done(H5Pset_virtual(creation, space, file.c_str(), of.c_str(), space));
  H5Dclose(done(H5Dcreate2(file_, name.c_str(), H5T_IEEE_F64LE, space, with_groups_, creation, H5P_DEFAULT)));
  H5Sclose(space), H5Pclose(creation);
}

void NewHdf5::link_to(const std::string& name, const std::string& file, const std::string& of) {
  done(H5Lcreate_external(file.c_str(), of.c_str(), file_, name.c_str(), with_groups_, H5P_DEFAULT));
}

void NewHdf5::set(const std::string& dataset, const std::string& attribute, double number) {
  const hid_t space = space_of({});
  const hid_t made = done(H5Acreate_by_name(file_, dataset.c_str(), attribute.c_str(), H5T_IEEE_F64LE, space,
                                            H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Awrite(made, H5T_NATIVE_DOUBLE, &number));
  H5Aclose(made), H5Sclose(space);
}

void NewHdf5::set(const std::string& dataset, const std::string& attribute, const std::string& text) {
  const hid_t space = space_of({}), type = done(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, text.size() + 1);
  const hid_t made = done(H5Acreate_by_name(file_, dataset.c_str(), attribute.c_str(), type, space, H5P_DEFAULT,
                                            H5P_DEFAULT, H5P_DEFAULT));
  done(H5Awrite(made, type, text.c_str()));
  H5Aclose(made), H5Sclose(space), H5Tclose(type);
}

void NewHdf5::set_integer(const std::string& dataset, const std::string& attribute, std::uint64_t number) {
  const hid_t space = space_of({});
  const hid_t made = done(H5Acreate_by_name(file_, dataset.c_str(), attribute.c_str(), H5T_STD_U64LE, space,
                                            H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  done(H5Awrite(made, H5T_NATIVE_UINT64, &number));
  H5Aclose(made), H5Sclose(space);
}

std::vector<double> numbers(std::size_t count, const std::function<double(std::size_t)>& number) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(number(i));
  return all;
}

}  // namespace dpmpi::test
