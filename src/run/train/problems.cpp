#include "run/train/problems.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/throw_error.hpp"

namespace dpmpi {

bool Problems::attempt(const std::function<void()>& check) {
  try {
    check();
    return true;
  } catch (const Error& e) {
    if (e.code() != ExitCode::config && e.code() != ExitCode::data && e.code() != ExitCode::privacy) throw;
    kinds_.push_back(e.code());
    if (std::ranges::find(texts_, e.what()) == texts_.end()) texts_.emplace_back(e.what());
    return false;
  }
}

bool Problems::has(ExitCode kind) const { return std::ranges::find(kinds_, kind) != kinds_.end(); }

void Problems::raise() const {
  if (!texts_.empty()) throw_error(kinds_.front(), fmt::format("{}", fmt::join(texts_, "\n  ")));
}

}  // namespace dpmpi
