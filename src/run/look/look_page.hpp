#pragma once
// A page about a look, for people who decide: what it cost, and how good the model was found to be.

#include <string>

#include <nlohmann/json.hpp>

namespace dpmpi {

/// `document` and `results`: look.json and evaluation.json of the folder `name`. Local. Throws JSON exceptions.
std::string look_page(const std::string& name, const nlohmann::ordered_json& document,
                      const nlohmann::ordered_json& results);
/// The same from a folder of is_look. Throws DataError if its files are not understood.
std::string look_page(const std::string& folder);

}  // namespace dpmpi
