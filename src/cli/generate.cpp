#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "data/synthetic/generate.hpp"

namespace dpmpi {
namespace {

int run_generate(const GenerateOptions& options) {
  for (const std::string& file : {options.output, options.eval_output}) {
    std::error_code failed;  // the writer says so, with the file's name
    if (const auto folder = std::filesystem::path(file).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder, failed);
  }
  generate(options);
  fmt::print("wrote {} records to {}\n", options.records, options.output);
  return printed();
}

}  // namespace

Command generate_command() {
  const auto typed = std::make_shared<GenerateOptions>();
  Options options("");
  typed->declare(options);
  return {.name = "generate",
          .forms = {{"dpmpi generate --output FILE", "a synthetic dataset"}},
          .options = options,
          .arguments = {"output"},
          .run = [typed](const Communicator&) { return run_generate(*typed); }};
}

}  // namespace dpmpi
