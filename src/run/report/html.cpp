#include "run/report/html.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace dpmpi::html {
namespace {

bool numeric(std::string_view cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.+-e %") == cell.npos;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string heading(std::string_view text) { return fmt::format("<h2>{}</h2>\n", escape(text)); }
std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", escape(text)); }

std::string alarm(std::string_view word, std::string_view text) {
  return fmt::format("<p class=\"alarm\"><b>{}</b> {}</p>\n", escape(word), escape(text));
}

std::string tile(std::string_view number, std::string_view name, std::string_view sentence) {
  return fmt::format("<div class=\"tile\"><p><b>{}</b> <span>{}</span></p><p>{}</p></div>\n", escape(number),
                     escape(name), escape(sentence));
}

std::string tiles(const std::string& markup) { return "<div class=\"tiles\">\n" + markup + "</div>\n"; }

std::string facts(const Rows& rows) {
  std::string out = "<table class=\"facts\">";
  for (const auto& row : rows)
    out += fmt::format("\n<tr><td>{}</td><td>{}</td></tr>", escape(row.at(0)), escape(row.at(1)));
  return out + "</table>\n";
}

std::string table(const std::vector<std::string>& head, const Rows& rows) {
  constexpr std::size_t narrow = 3;  // columns that a telephone shows beside each other
  const bool stacks = head.size() > narrow;
  std::string out = stacks ? "<table class=\"stacks\">" : "<table>";
  if (!head.empty()) {
    out += "<tr>";
    for (const auto& cell : head) out += fmt::format("<th>{}</th>", escape(cell));
    out += "</tr>";
  }
  for (const auto& row : rows) {
    out += "\n<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out +=
          fmt::format("<td{}{}>{}</td>", numeric(row[i]) ? " class=\"n\"" : "",
                      stacks && i > 0 ? fmt::format(" data-name=\"{}\"", escape(head.at(i))) : "", escape(row[i]));
    out += "</tr>";
  }
  return out + "</table>\n";
}

std::string beside(const std::string& words, const std::string& picture) {
  return "<div class=\"beside\">\n<div>" + words + "</div>\n<div>" + picture + "</div>\n</div>\n";
}

std::string details(std::string_view summary, const std::string& markup) {
  // Open: a closed one is lost in print.
  return fmt::format("<details open><summary>{}</summary>\n{}</details>\n", escape(summary), markup);
}

std::string image(std::string_view png, std::string_view description) {
  return fmt::format("<p><img alt=\"{}\" src=\"data:image/png;base64,{}\"></p>\n", escape(description),
                     base64(png));
}

std::string page(std::string_view title, std::string_view under, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{0}</title>\n"
      "<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n<p class=\"under\">{2}</p>\n{3}</body></html>\n",
      escape(title), style, escape(under), body);
}

}  // namespace dpmpi::html
