#pragma once
// A made-up hospital's export: a table with words, gaps and dates, several visits of a patient.

#include <cstdint>
#include <string>

namespace dpmpi {

/// How a table is written.
struct TableStyle {
  char separator = ',';
  bool decimal_comma = false;  ///< and days as 31.12.2019 in place of 2019-12-31
};

/// Visits number first .. first + count - 1 in time's order, of patients number first / 5 .. (first + count) / 5 -
/// 1: most have 2 to 6, a few have more than 100. 60 columns: patient_id, the day, nine columns of words (some with
/// commas, one with an order), a remark, 47 numbers of which many have gaps, and the label `readmitted`, which 7 %
/// have. Written to output_target(path), with a header; the same bytes on every machine. Local. Errors as for
/// write_records.
void write_hospital(const std::string& path, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                    const TableStyle& style);

}  // namespace dpmpi
