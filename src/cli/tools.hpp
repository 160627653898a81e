#pragma once
#include <string>
#include <vector>

namespace dpmpi {

/// The commands of the same names; `words` is what follows the command. Return the exit code; throw Error.
int run_generate(const std::vector<std::string>& words);
int run_convert(const std::vector<std::string>& words);
int run_account(const std::vector<std::string>& words);
int run_calibrate(const std::vector<std::string>& words);
int run_verify(const std::vector<std::string>& words);

/// `dpmpi help account` and so on.
std::string account_help();
std::string calibrate_help();
std::string verify_help();

}  // namespace dpmpi
