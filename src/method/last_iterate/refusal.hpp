#pragma once
// Why a run of zo-hidden does not have the bound for hidden iterates (HS-01 .. HS-09), and what it has instead.

#include <string>
#include <string_view>

#include "method/last_iterate/settings.hpp"

namespace dpmpi {

/// Why hidden iterates are refused before its constants are known: by the settings alone. Empty: not.
std::string hidden_refusal(const LastIterateSettings& settings, const PublicFacts& facts);

/// Throws PrivacyError with what composition gives for the same steps.
[[noreturn]] void refuse_hidden(const LastIterateSettings& settings, const PublicFacts& facts,
                                std::string_view why);

}  // namespace dpmpi
