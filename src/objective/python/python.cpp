// The objective `python`: a loss that is a function of a Python module. The interpreter stands in a library of its
// own, which is a plugin like any other (python/host), so a module sees what a plugin in C sees.

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/file_reader.hpp"
#include "objective/plugin/library.hpp"
#include "objective/plugin/plugin_losses.hpp"

namespace dpmpi {
namespace {

/// Beside the program, where a build leaves it, or where an installation has it.
std::string python_host() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& file :
       {folder / "libdpmpi_python.so", folder.parent_path() / "lib/dpmpi/libdpmpi_python.so"})
    if (fs::is_regular_file(file)) return file.string();
  throw ConfigError(
      "objective.name = python: this dpmpi was built without Python: install pybind11-dev and python3-dev "
      "(launch/setup --python) and build it again");
}

class PythonBuilder : public LibraryBuilder {
 public:
  PythonBuilder()
      : LibraryBuilder(
            {.option = "module",
             .kind = "module",
             .missing = "objective.name = python needs a Python file with the function losses",
             .help = "Python file with the functions losses and dim, as a path (docs/guide/python_losses.md)",
             .most_bytes = file_limit::document}) {}

  void declare(Options& options) override {
    declare_file(options);
    options.add("parameters", parameters_, "text that the module finds in its name `parameters`");
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    const Loaded& module = loaded();
    return std::make_unique<PluginLosses>(module.library, module.text, facts);
  }
  LabelKind label_kind() const override { return loaded().library->label_kind(); }
  std::size_t classes() const override { return loaded().library->classes(loaded().text); }
  std::vector<std::string> files() const override { return {library(), python_host()}; }

 private:
  struct Loaded {
    std::string from, text;  ///< text: what the host is told
    std::shared_ptr<const PluginLibrary> library;
  };

  // What is run is the text whose digest was compared, whatever becomes of the file.
  const Loaded& loaded() const {
    check_allowed();
    if (loaded_.library && loaded_.from == library()) return loaded_;
    const std::string source = read_module();
    check_digest(sha256(source));
    if (source.find('\0') != source.npos)  // where Python would stop reading, and the digest goes on
      throw ConfigError(fmt::format("the module {} is no text: it holds a zero byte", library()));
    const std::string text = fmt::format("{}\n{}\n{}", library(), parameters_, source);
    auto host = std::make_shared<PluginLibrary>(python_host(), fmt::format("module {}", library()), text);
    return loaded_ = {library(), text, std::move(host)};
  }
  std::string read_module() const {
    try {
      return read_file(library(), file_limit::document);
    } catch (const DataError& e) {
      throw ConfigError(fmt::format("cannot load the module {}: {}", library(), e.what()));
    }
  }

  std::string parameters_;
  mutable Loaded loaded_;
};

const ObjectiveRegistration python{{"python",
                                    "a loss that is a function of a Python module, for zeroth-order methods",
                                    make_builder<PythonBuilder>}};

}  // namespace
}  // namespace dpmpi
