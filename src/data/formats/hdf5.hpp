#pragma once
// HDF5 files, and those of NetCDF-4: datasets found by their names. Which the features and the labels are,
// data.label, data.datasets, data.drop and data.person say; every rank reads its own rows of them.

#include <memory>
#include <string>
#include <vector>

#include "data/formats/arrays.hpp"
#include "data/formats/hdf5_cell.hpp"

namespace dpmpi {

class Hdf5 final : public Arrays {
 public:
  using Arrays::Arrays;
  Layout inspect(const std::vector<Head>& files) override;
  std::unique_ptr<InputFile> content(std::unique_ptr<InputFile> file) const override;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
  void archive(Archive& archive) override;
  std::size_t feature_of(const std::string& name, std::size_t features) const override;

 protected:
  void read_behind(const char* row, RecordsBuilder& out) const override;

 private:
  std::string label_;                  // name of a field; empty: there are no labels
  std::vector<std::string> features_;  // of fields
  std::string person_;                 // likewise; empty: nobody is asked for
  Hdf5Cell person_cell_;               // behind the features of a row
};

}  // namespace dpmpi
