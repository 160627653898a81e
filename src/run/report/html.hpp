#pragma once
// Pieces of an HTML page; text is escaped, markup is not.

#include <string>
#include <string_view>
#include <vector>

namespace dpmpi::html {

using Rows = std::vector<std::vector<std::string>>;

std::string escape(std::string_view text);
std::string heading(std::string_view text);
std::string paragraph(std::string_view text);
/// What must not be missed: a word, and what it is about.
std::string alarm(std::string_view word, std::string_view text);
/// A large number with its name, and a sentence about it.
std::string tile(std::string_view number, std::string_view name, std::string_view sentence);
std::string tiles(const std::string& markup);
/// Names and what they are, two columns: each value stands beside its name.
std::string facts(const Rows& rows);
/// Cells are text; numeric-looking ones are aligned to the right. On narrow screens each row of a wide table
/// becomes a list, in which the head's names stand beside the values.
std::string table(const std::vector<std::string>& head, const Rows& rows);
/// Two pieces side by side, as far as there is room. Either may be empty.
std::string beside(const std::string& words, const std::string& picture);
/// Folded until it is opened; prints open.
std::string details(std::string_view summary, const std::string& markup);
/// A PNG image as a data URL.
std::string image(std::string_view png, std::string_view description);
/// `under`: a line below the title.
std::string page(std::string_view title, std::string_view under, const std::string& body);

/// All that says how a page looks (style.cpp).
extern const std::string_view style;

}  // namespace dpmpi::html
