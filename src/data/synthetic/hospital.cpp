#include "data/synthetic/hospital.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/numbers/portable_exp.hpp"
#include "core/numbers/random.hpp"
#include "data/columns/day.hpp"
#include "data/formats/write.hpp"

namespace dpmpi {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view hospital_wards[] = {"Internal medicine", "Surgery, general", "Surgery, vascular",
                                               "Cardiology",        "Neurology",        "Obstetrics",
                                               "Oncology",          "Geriatrics"};
constexpr std::string_view diagnoses[] = {"Circulatory",
                                          "Neoplasms",
                                          "Digestive",
                                          "Respiratory",
                                          "Injury, poisoning",
                                          "Musculoskeletal",
                                          "Genitourinary",
                                          "Nervous system",
                                          "Endocrine, metabolic",
                                          "Mental",
                                          "Infectious",
                                          "Skin",
                                          "Pregnancy",
                                          "Eye",
                                          "Ear",
                                          "Blood",
                                          "Symptoms, unspecified",
                                          "Congenital",
                                          "Perinatal",
                                          "Factors, other"};
constexpr std::string_view triage_colours[] = {"blue", "green", "yellow", "orange", "red"};
constexpr std::string_view insurances[] = {"public", "private", "accident", "none"};
constexpr std::string_view admissions[] = {"planned", "emergency", "transfer, other hospital"};
constexpr std::string_view marital_states[] = {"single", "married", "widowed", "divorced"};
constexpr std::string_view languages[] = {"German", "English", "Turkish", "Arabic", "Polish", "Ukrainian"};
constexpr std::string_view districts[] = {"North", "East", "South", "West", "Centre", "Outside, country"};
constexpr std::string_view gaps[] = {"", "NULL", "n/a", "?"};

struct Measured {
  std::string_view name;
  double mean, deviation;
  int decimals;
  double gap_share;
};
constexpr Measured measured[] = {{"heart_rate", 78, 14, 0, 0},
                                 {"systolic", 131, 19, 0, 0},
                                 {"diastolic", 79, 11, 0, 0},
                                 {"temperature", 36.9, 0.6, 1, 0},
                                 {"respiration", 16, 3, 0, 0.02},
                                 {"saturation", 96, 2, 0, 0.02},
                                 {"weight", 77, 16, 1, 0.05},
                                 {"height", 169, 10, 0, 0.08},
                                 {"sodium", 139, 3.5, 0, 0.1},
                                 {"potassium", 4.2, 0.5, 2, 0.1},
                                 {"chloride", 102, 4, 0, 0.12},
                                 {"calcium", 2.3, 0.15, 2, 0.15},
                                 {"magnesium", 0.85, 0.1, 2, 0.2},
                                 {"phosphate", 1.1, 0.25, 2, 0.2},
                                 {"creatinine", 92, 34, 0, 0.08},
                                 {"urea", 6.9, 3.3, 1, 0.1},
                                 {"uric_acid", 330, 95, 0, 0.25},
                                 {"glucose", 6.6, 2.2, 1, 0.08},
                                 {"hba1c", 41, 11, 0, 0.3},
                                 {"hemoglobin", 132, 19, 0, 0.06},
                                 {"hematocrit", 0.4, 0.05, 2, 0.06},
                                 {"erythrocytes", 4.5, 0.6, 2, 0.06},
                                 {"leukocytes", 8.6, 3.2, 1, 0.06},
                                 {"platelets", 248, 82, 0, 0.06},
                                 {"mcv", 90, 6, 1, 0.1},
                                 {"neutrophils", 5.9, 2.9, 1, 0.2},
                                 {"lymphocytes", 1.7, 0.8, 1, 0.2},
                                 {"monocytes", 0.6, 0.25, 2, 0.2},
                                 {"eosinophils", 0.2, 0.15, 2, 0.2},
                                 {"crp", 28, 30, 1, 0.1},
                                 {"procalcitonin", 1, 0.8, 2, 0.3},
                                 {"bilirubin", 12, 7, 1, 0.15},
                                 {"alt", 31, 21, 0, 0.12},
                                 {"ast", 33, 22, 0, 0.12},
                                 {"ggt", 55, 48, 0, 0.15},
                                 {"alkaline_phosphatase", 92, 42, 0, 0.18},
                                 {"albumin", 37, 6, 1, 0.2},
                                 {"total_protein", 69, 8, 1, 0.22},
                                 {"ldh", 230, 80, 0, 0.2},
                                 {"ck", 140, 110, 0, 0.25},
                                 {"troponin", 22, 20, 0, 0.3},
                                 {"bnp", 210, 190, 0, 0.3},
                                 {"cholesterol", 4.7, 1.2, 1, 0.25},
                                 {"triglycerides", 1.6, 0.8, 1, 0.25},
                                 {"tsh", 2.1, 1.2, 2, 0.3},
                                 {"inr", 1.1, 0.2, 2, 0.2}};
constexpr std::size_t factors = 4;  // that a patient's numbers have in common

/// Numbers that are the same for all, the patient's, and the visit's.
struct Hospital {
  std::uint64_t seed;
  std::vector<double> loadings, weights;

  explicit Hospital(std::uint64_t of)
      : seed(of), loadings(std::size(measured) * factors), weights(std::size(measured) + 1) {
    PublicStream(seed, "hospital loadings").normals(0, loadings);
    weights.resize(std::size(measured) / 2 * 2);
    PublicStream(seed, "hospital weights").normals(0, weights);
  }
};

std::string day_text(std::int64_t days, const TableStyle& style) {
  const CalendarDay d = calendar_day(days);
  return style.decimal_comma ? fmt::format("{:02}.{:02}.{}", d.day, d.month, d.year)
                             : fmt::format("{}-{:02}-{:02}", d.year, d.month, d.day);
}

/// A line while it is written.
class HospitalLine {
 public:
  explicit HospitalLine(const TableStyle& style) : style_(style) {}
  void add(std::string_view text) {
    if (!line_.empty()) line_ += style_.separator;
    const bool quoted = text.find(style_.separator) != text.npos;
    line_ += quoted ? fmt::format("\"{}\"", text) : std::string(text);
  }
  void add_number(double x, int decimals) {
    std::string text = fmt::format("{:.{}f}", x, decimals);
    if (style_.decimal_comma) std::ranges::replace(text, '.', ',');
    add(text);
  }
  std::string take() { return std::move(line_) + '\n'; }

 private:
  const TableStyle& style_;
  std::string line_;
};

std::string header_line(const TableStyle& style) {
  HospitalLine line(style);
  for (const char* name : {"patient_id", "admitted", "ward", "diagnosis", "triage", "admission", "insurance", "sex",
                           "marital_status", "language", "district", "age", "remark"})
    line.add(name);
  for (const Measured& m : measured) line.add(m.name);
  line.add("readmitted");
  return line.take();
}

/// Number i of 0 .. count - 1 by a uniform number, the first ones more often.
std::size_t chosen(double uniform, std::size_t count) {
  return static_cast<std::size_t>(uniform * uniform * static_cast<double>(count));
}

struct Patient {
  std::uint64_t number;
  PublicStream stream;
  std::array<double, factors> common{};

  Patient(const Hospital& hospital, std::uint64_t n) : number(n), stream(hospital.seed, "hospital patient", n) {
    stream.normals(64, common);
  }
  std::string_view word(std::uint64_t place, Words words) const {
    return words[chosen(stream.uniform(place), words.size())];
  }
  double age() const { return 18 + std::floor(75 * std::sqrt(stream.uniform(0))); }
};

/// Of the patients of visits first .. first + count - 1: low numbers have many visits.
std::uint64_t patient_of(double uniform, std::uint64_t first, std::uint64_t count) {
  const double among = static_cast<double>(std::max<std::uint64_t>(1, count / 5));
  return first / 5 + static_cast<std::uint64_t>(among * uniform * std::sqrt(uniform));
}

std::string visit_line(const Hospital& hospital, std::uint64_t i, std::uint64_t first, std::uint64_t count,
                       const TableStyle& style) {
  const PublicStream stream(hospital.seed, "hospital visit", i);
  const Patient patient(hospital, patient_of(stream.uniform(0), first, count));
  const double age = patient.age();
  const std::size_t ward = chosen(stream.uniform(1), std::size(hospital_wards));
  const std::size_t diagnosis = chosen(stream.uniform(2), std::size(diagnoses));
  const std::size_t triage = static_cast<std::size_t>(5 * stream.uniform(3));
  const std::size_t admission = chosen(stream.uniform(4), std::size(admissions));

  HospitalLine line(style);
  line.add(fmt::format("P{:07}", patient.number));
  line.add(day_text(16'436 + static_cast<std::int64_t>(1'826 * (i - first) / count), style));  // 2015 to 2019
  line.add(hospital_wards[ward]);
  line.add(stream.uniform(5) < 0.03 ? gaps[i % std::size(gaps)] : diagnoses[diagnosis]);
  line.add(triage_colours[triage]);
  line.add(admissions[admission]);
  line.add(patient.word(1, insurances));
  line.add(patient.stream.uniform(2) < 0.52 ? "f" : "m");
  line.add(patient.stream.uniform(3) < 0.1 ? "" : patient.word(4, marital_states));
  line.add(patient.word(5, languages));
  line.add(patient.word(6, districts));
  line.add_number(age, 0);
  line.add(fmt::format("seen by doctor {}, room {}", i % 97, i % 41));

  // -3.43 leaves 7 % positive.
  double score = -3.43 + 0.02 * (age - 60) + 0.25 * (static_cast<double>(triage) - 2) +
                 (admission == 1 ? 0.4 : 0.0) + (ward == 6 ? 0.7 : 0.0) +
                 (diagnosis == 1   ? 0.5
                  : diagnosis == 0 ? 0.3
                                   : 0.0);
  std::array<double, std::size(measured)> own{};
  stream.normals(64, std::span(own).first(own.size() / 2 * 2));
  for (std::size_t j = 0; j < std::size(measured); ++j) {
    double z = 0.8 * own[j];
    for (std::size_t k = 0; k < factors; ++k) z += 0.3 * hospital.loadings[j * factors + k] * patient.common[k];
    if (j < hospital.weights.size()) score += 0.16 * hospital.weights[j] * z;
    if (stream.uniform(256 + j) < measured[j].gap_share)
      line.add(gaps[(i + j) % std::size(gaps)]);
    else
      line.add_number(std::max(0.0, measured[j].mean + measured[j].deviation * z), measured[j].decimals);
  }
  line.add(stream.uniform(6) * (1 + portable_exp(-score)) < 1 ? "yes" : "no");
  return line.take();
}

}  // namespace

void write_hospital(const std::string& path, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                    const TableStyle& style) {
  const Hospital hospital(seed);
  Progress progress("generating hospital", count, "records");
  std::uint64_t next = 0;
  write_lines(path, [&](std::string& text) {
    if (next == 0) text += header_line(style);
    if (next == count) return false;
    text += visit_line(hospital, first + next++, first, count, style);
    progress.add();
    return true;
  });
}

}  // namespace dpmpi
