// The objective `plugin`: a black-box loss from a shared object (include/dpmpi/plugin.h). It has no gradients, so
// only zeroth-order methods can use it.

#include <memory>

#include <fmt/format.h>

#include "core/files/file_reader.hpp"
#include "objective/plugin/library.hpp"
#include "objective/plugin/plugin_losses.hpp"

namespace dpmpi {
namespace {

class PluginBuilder : public LibraryBuilder {
 public:
  PluginBuilder()
      : LibraryBuilder({.option = "library",
                        .kind = "plugin",
                        .missing = "objective.name = plugin needs a shared object",
                        .help = "shared object of a black-box loss, as a path (see include/dpmpi/plugin.h)",
                        .most_bytes = file_limit::library}) {}

  void declare(Options& options) override {
    declare_file(options);
    options.add("parameters", parameters_, "text that the plugin reads, e.g. quantile=0.9");
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<PluginLosses>(loaded(), parameters_, facts);
  }
  LabelKind label_kind() const override { return loaded()->label_kind(); }
  std::size_t classes() const override { return loaded()->classes(parameters_); }

 private:
  const std::shared_ptr<const PluginLibrary>& loaded() const {
    check_allowed();
    if (library_ && loaded_from_ == library()) return library_;
    check_digest();
    loaded_from_ = library();
    return library_ = std::make_shared<PluginLibrary>(library(), fmt::format("plugin {}", library()), parameters_);
  }

  std::string parameters_;
  mutable std::string loaded_from_;
  mutable std::shared_ptr<const PluginLibrary> library_;
};

const ObjectiveRegistration plugin{
    {"plugin", "a black-box loss from a shared object, for zeroth-order methods", make_builder<PluginBuilder>}};

}  // namespace
}  // namespace dpmpi
