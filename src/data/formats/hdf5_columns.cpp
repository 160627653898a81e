#include "data/formats/hdf5_columns.hpp"

#include <map>

namespace dpmpi {

Hdf5Columns hdf5_columns(const std::vector<Hdf5Field>& all, const ColumnsFile* file) {
  const auto is_named = [&](const std::string& name) { return file != nullptr && file->find(name) != nullptr; };
  std::map<std::string, int> times;
  for (const Hdf5Field& field : all) ++times[field.last_name()];
  Hdf5Columns columns;
  for (const Hdf5Field& field : all) {
    const bool by_last = times[field.last_name()] == 1 && !is_named(field.name);
    const std::string name = by_last ? field.last_name() : field.name;
    const bool usual = field.is_lost || (field.shape.size() == 1 && !field.is_scale);
    if (!usual && !is_named(name)) continue;
    columns.names.push_back(name);
    columns.fields.push_back(field);
  }
  return columns;
}

}  // namespace dpmpi
