#pragma once
// HDF5 files as tables: a column is a dataset with one value a record, or a member of a table of compound elements.
// What the columns are, data.columns says, as of a CSV; values are numbers or words.

#include <memory>
#include <string>
#include <vector>

#include "data/formats/hdf5_cell.hpp"
#include "data/formats/table.hpp"

namespace dpmpi {

class Hdf5Table final : public Format {
 public:
  using Format::Format;
  Layout inspect(const std::vector<Head>& files) override;
  std::unique_ptr<InputFile> content(std::unique_ptr<InputFile> file) const override;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
  void archive(Archive& archive) override;
  std::size_t feature_of(const std::string& name, std::size_t) const override { return schema_.feature_of(name); }

 private:
  /// A column that is read.
  struct Read {
    std::uint64_t column = 0;  // of the schema
    std::string field;         // its full name
    Hdf5Cell cell;
  };
  std::uint64_t row_bytes() const;

  TableSchema schema_;
  std::vector<Read> reads_;  // as they stand in a row
};

}  // namespace dpmpi
