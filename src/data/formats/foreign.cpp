#include "data/formats/foreign.hpp"

#include <string_view>

#include <fmt/format.h>

#include "data/formats/file.hpp"

namespace dpmpi {
namespace {

using namespace std::string_view_literals;

struct Foreign {
  std::string_view magic, name, way;
};

constexpr std::string_view netcdf_3 = "nccopy -k nc4 OLD NEW writes one that it reads";

// Magics that a text could begin with are longer here by what follows them in such files.
constexpr Foreign foreign[] = {
    {"PAR1\x15"sv, "a Parquet file", "pandas.read_parquet(...).to_csv(..., index=False) writes a table"},
    {"ARROW1\0"sv, "an Arrow (Feather) file", "pandas.read_feather(...).to_csv(..., index=False) writes a table"},
    {"PK\x03\x04"sv, "a zip archive, as Excel's .xlsx and NumPy's .npz are",
     "unpack it, or save the sheet as CSV, or numpy.save each array as .npy"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Excel file (.xls)", "save the sheet as CSV"},
    {"SQLite format 3\0"sv, "an SQLite database", "sqlite3 -header -csv FILE 'select ...' writes a table"},
    {"$FL2@"sv, "an SPSS file (.sav)", "pandas.read_spss(...).to_csv(..., index=False) writes a table"},
    {"<stata_dta>"sv, "a Stata file (.dta)", "pandas.read_stata(...).to_csv(..., index=False) writes a table"},
    {"CDF\x01"sv, "a NetCDF-3 file", netcdf_3},
    {"CDF\x02"sv, "a NetCDF-3 file", netcdf_3},
    {"CDF\x05"sv, "a NetCDF-3 file", netcdf_3},
    {"BZh91AY&SY"sv, "compressed by bzip2", "decompress it, or compress it by gzip"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed by xz", "decompress it, or compress it by gzip"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd", "decompress it, or compress it by gzip"},
};

}  // namespace

void refuse_foreign(const std::string& path, const std::string& bytes) {
  for (const Foreign& format : foreign)
    if (bytes.starts_with(format.magic))
      refuse_file(path, fmt::format("is {}, which dpmpi does not read: {}", format.name, format.way));
}

}  // namespace dpmpi
