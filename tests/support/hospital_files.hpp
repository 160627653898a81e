#pragma once
// One table of visits as a CSV and as HDF5, with words, gaps, dates and persons.

#include <string>

namespace dpmpi::test {

/// Its columns file; the person is the column `patient`.
extern const char* const hospital_columns;
/// 3001 records of 400 persons.
void write_hospital_csv(const std::string& path);
void write_hospital_hdf5(const std::string& path);

}  // namespace dpmpi::test
