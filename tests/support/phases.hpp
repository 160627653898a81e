#pragma once
// Work counted by what the library says of its phases.

#include <functional>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/console/progress.hpp"

namespace dpmpi::test {

/// How many lines about the phase of that name are shown while `body` runs; each phase has at least one.
inline int phases_said(std::string_view phase, const std::function<void()>& body) {
  show_progress("lines"), show_progress_after(0);
  ::testing::internal::CaptureStderr();
  body();
  std::istringstream said(::testing::internal::GetCapturedStderr());
  show_progress("none"), show_progress_after(1);
  int lines = 0;
  for (std::string line; std::getline(said, line);) lines += line.find(phase) != line.npos;
  return lines;
}

}  // namespace dpmpi::test
