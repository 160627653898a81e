#pragma once
// Numbers as people read them: three digits, and the same everywhere in a page.

#include <string>

#include <nlohmann/json.hpp>

namespace dpmpi {

/// Whole numbers as they are, others to three digits: 0.923, 1e-5.
std::string shown(double x);
/// The same, never below x: of bounds, which must not look better than they are.
std::string shown_above(double x);
/// The same, never above x.
std::string shown_below(double x);
/// Numbers, and texts as they are.
std::string shown(const nlohmann::ordered_json& value);
/// Of an upper bound, which may be a text ("infinity").
std::string shown_above(const nlohmann::ordered_json& value);
/// Of a measurement: three digits where the last ones are zeros, too. 0.920.
std::string measured(double x);
/// "92.0 %".
std::string shown_share(double share);
/// As in the rest of the page: 1e-05 of a text as 1e-5.
std::string with_short_exponents(std::string text);
/// A whole number with its thousands apart: 20,000.
std::string shown_count(double count);

}  // namespace dpmpi
