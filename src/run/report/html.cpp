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

constexpr std::string_view style = R"(
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 64em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 0.8em 0; } td, th { padding: 0.15em 0.9em 0.15em 0; text-align: left; vertical-align: top; }
th { border-bottom: 1px solid #888; } td { overflow-wrap: anywhere; } td:first-child { overflow-wrap: normal; }
td.n { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; white-space: nowrap; }
.big { font-size: 1.5em; } .alarm { background: #fde8e8; border-left: 5px solid #c00; padding: 0.6em 1em; }
.plots { display: flex; flex-wrap: wrap; gap: 1em; } .plots svg { width: 30em; max-width: 100%; height: auto; }
img { image-rendering: pixelated; max-width: 100%; }
@media print { body { max-width: none; font-size: 11px; } h2 { break-after: avoid; } svg, img, tr { break-inside: avoid; }
  .plots { display: block; } .plots svg { width: 48%; } }
)";

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

std::string table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<table>";
  if (!head.empty()) {
    out += "<tr>";
    for (const auto& cell : head) out += fmt::format("<th>{}</th>", escape(cell));
    out += "</tr>";
  }
  for (const auto& row : rows) {
    out += "\n<tr>";
    for (const auto& cell : row)
      out += fmt::format("<td{}>{}</td>", numeric(cell) ? " class=\"n\"" : "", escape(cell));
    out += "</tr>";
  }
  return out + "</table>\n";
}

std::string details(std::string_view summary, const std::string& markup) {
  // Open: a closed one is lost in print.
  return fmt::format("<details open><summary>{}</summary>\n{}</details>\n", escape(summary), markup);
}

std::string image(std::string_view png, std::string_view description) {
  return fmt::format("<p><img alt=\"{}\" src=\"data:image/png;base64,{}\"></p>\n", escape(description),
                     base64(png));
}

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{0}</title><style>{1}</style></head>\n<body>\n"
      "<h1>{0}</h1>\n{2}</body></html>\n",
      escape(title), style, body);
}

}  // namespace dpmpi::html
