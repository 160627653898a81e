#include "cli/verify.hpp"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

const char* word(VerifiedItem::State state) {
  switch (state) {
    case VerifiedItem::State::good:
      return "ok";
    case VerifiedItem::State::absent:
      return "absent";
    case VerifiedItem::State::unchecked:
      return "unknown";
    case VerifiedItem::State::warning:
      return "WARNING";
    case VerifiedItem::State::bad:
      return "BAD";
  }
  return "?";
}

}  // namespace

int print_verification(const std::vector<VerifiedItem>& items, bool json, std::ostream& out) {
  bool bad = false, absent = false;
  for (const auto& item : items) {
    bad = bad || item.state == VerifiedItem::State::bad;
    absent = absent || item.state == VerifiedItem::State::absent;
  }
  if (json) {
    nlohmann::ordered_json answer{{"verified", !bad}, {"checks", nlohmann::ordered_json::array()}};
    for (const auto& item : items)
      answer["checks"].push_back({{"result", word(item.state)}, {"place", item.place}, {"detail", item.detail}});
    // Details quote damaged files, whose bytes may be no text.
    out << answer.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  } else {
    for (const auto& item : items)
      out << fmt::format("{:<7} {:<20} {}\n", word(item.state), item.place, item.detail);
    out << (bad      ? "the run does not verify\n"
            : absent ? "what is there fits together, but for what is unknown\n"
                     : "everything fits together, but for what is unknown\n");
  }
  return static_cast<int>(bad ? ExitCode::privacy : ExitCode::done);
}

}  // namespace dpmpi
