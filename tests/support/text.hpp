#pragma once
// What messages and pages say.

#include <string>

namespace dpmpi::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace dpmpi::test
