#include "run/certify/model_metadata.hpp"

#include "core/files/digest.hpp"
#include "data/columns/columns_file.hpp"
#include "run/config/recipe.hpp"

namespace dpmpi {

std::vector<std::pair<std::string, std::string>> model_metadata(const RunConfig& config,
                                                                const std::string& certificate,
                                                                std::uint64_t features,
                                                                const std::string& columns) {
  std::vector<std::pair<std::string, std::string>> all{{"method", config.method_name},
                                                       {"objective", config.objective_name},
                                                       {"config", config.digest()},
                                                       {"certificate", certificate}};
  if (!config.is_private()) all.emplace_back("noise", "none: NOT PRIVATE");
  for (auto& pair : recipe_of(config, features, columns)) all.push_back(std::move(pair));
  return all;
}

std::vector<std::pair<std::string, std::string>> expected_metadata(
    const RunConfig& config, const std::string& certificate, std::uint64_t features,
    const std::map<std::string, std::string>& written) {
  std::string columns;
  if (config.prepare.on()) {
    if (const auto found = written.find("columns"); found != written.end()) columns = found->second;
  } else if (config.data.columns_file)
    columns = config.data.columns_file->text;
  else if (const auto found = written.find("columns");
           found != written.end() && sha256(found->second) == config.data.columns_digest)
    columns = found->second;
  auto expected = model_metadata(config, certificate, features, columns);
  if (!written.contains("recipe"))
    std::erase_if(expected, [](const auto& pair) {
      return pair.first == "recipe" || pair.first == "features" || pair.first == "columns";
    });
  return expected;
}

}  // namespace dpmpi
