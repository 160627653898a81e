#pragma once
// Pieces of an HTML page; text is escaped, markup is not.

#include <string>
#include <string_view>
#include <vector>

namespace dpmpi::html {

std::string escape(std::string_view text);
std::string heading(std::string_view text);
std::string paragraph(std::string_view text);
/// Cells are text; numeric-looking ones are aligned to the right.
std::string table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);
/// Folded until it is opened; prints open.
std::string details(std::string_view summary, const std::string& markup);
/// A PNG image as a data URL.
std::string image(std::string_view png, std::string_view description);
std::string page(std::string_view title, const std::string& body);

}  // namespace dpmpi::html
