#include "objective/plugin/unloaded_plugin.hpp"

namespace dpmpi {
namespace {

class UnloadedPlugin final : public Objective {
 public:
  explicit UnloadedPlugin(std::size_t dim) : dim_(dim) {}

  std::size_t dim() const override { return dim_; }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 0; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim_, 1}}; }
  double flops_per_record() const override { return 2 * static_cast<double>(dim_); }

 private:
  std::size_t dim_;
};

}  // namespace

std::unique_ptr<Objective> unloaded_plugin(std::size_t dim) { return std::make_unique<UnloadedPlugin>(dim); }

}  // namespace dpmpi
