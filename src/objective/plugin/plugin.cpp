// The objective `plugin`: a black-box loss from a shared object (include/dpmpi/plugin.h). It has no gradients, so
// only zeroth-order methods can use it.

#include "dpmpi/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "objective/copy_rows.hpp"
#include "objective/objective.hpp"
#include "objective/plugin/library.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
namespace {

/// A loaded shared object and its table of functions.
class PluginLibrary {
 public:
  explicit PluginLibrary(const std::string& path)
      : path_(path), object_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (object_ == nullptr) throw ConfigError(fmt::format("cannot load the plugin {}: {}", path, ::dlerror()));
    try {
      check(::dlsym(object_, "dpmpi_plugin_entry"));
    } catch (...) {
      ::dlclose(object_);
      throw;
    }
  }
  ~PluginLibrary() { ::dlclose(object_); }
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& path() const { return path_; }
  const dpmpi_plugin* operator->() const { return table_; }

  LabelKind label_kind() const {
    if (table_->label_kind == DPMPI_LABEL_CLASS) return LabelKind::class_;
    return table_->label_kind == DPMPI_LABEL_SIGN ? LabelKind::sign : LabelKind::real;
  }
  std::size_t classes(const std::string& parameters) const {
    if (label_kind() != LabelKind::class_) return 0;
    const std::uint64_t classes = table_->classes(parameters.c_str());
    if (classes < 2) throw ConfigError(fmt::format("plugin {}: {} classes are no task", path_, classes));
    return classes;
  }

 private:
  void check(void* entry) {
    if (entry == nullptr)
      throw ConfigError(fmt::format("{} is no dpmpi plugin: it lacks dpmpi_plugin_entry", path_));
    table_ = reinterpret_cast<const dpmpi_plugin* (*)()>(entry)();
    if (table_ == nullptr) throw ConfigError(fmt::format("plugin {}: dpmpi_plugin_entry returned nothing", path_));
    if (table_->version != DPMPI_PLUGIN_VERSION)
      throw ConfigError(fmt::format("plugin {} has interface version {}, this dpmpi needs {}: compile it again",
                                    path_, table_->version, DPMPI_PLUGIN_VERSION));
    const bool complete = table_->create != nullptr && table_->destroy != nullptr && table_->dim != nullptr &&
                          table_->loss != nullptr && table_->label_kind <= DPMPI_LABEL_CLASS &&
                          (table_->label_kind != DPMPI_LABEL_CLASS || table_->classes != nullptr);
    if (!complete) throw ConfigError(fmt::format("plugin {} leaves required fields of dpmpi_plugin empty", path_));
  }

  std::string path_;
  void* object_;
  const dpmpi_plugin* table_ = nullptr;
};

class Plugin final : public Objective, public PointValues {
 public:
  Plugin(std::shared_ptr<const PluginLibrary> library, const std::string& parameters, const ObjectiveFacts& facts);
  ~Plugin() override { (*library_)->destroy(handle_); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  std::size_t dim() const override { return dim_; }
  LabelKind label_kind() const override { return library_->label_kind(); }
  std::size_t classes() const override { return classes_; }
  std::size_t outputs() const override { return 0; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim_, 1}}; }
  double flops_per_record() const override { return 2 * static_cast<double>(dim_); }

 protected:
  Capabilities capabilities() override { return {.values = this}; }

 private:
  void prepare(std::span<const float> w) override { w_ = w; }
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows&, std::span<float>) override {}

  std::shared_ptr<const PluginLibrary> library_;
  std::size_t stride_;
  void* handle_;
  std::size_t dim_ = 0, classes_ = 0;
  std::span<const float> w_;
  AlignedVector<float> records_;
  std::vector<float> labels_;  ///< NaN: a slot or record that does not count
};

Plugin::Plugin(std::shared_ptr<const PluginLibrary> library, const std::string& parameters,
               const ObjectiveFacts& facts)
    : library_(std::move(library)),
      stride_(round_up(facts.features + 1, 16)),
      handle_(nullptr),
      classes_(library_->classes(parameters)),
      records_(micro_batch_rows() * stride_),
      labels_(micro_batch_rows()) {
  std::array<char, 512> error{};
  const std::uint64_t columns = facts.features + (facts.bias != 0 ? 1 : 0);
  handle_ = (*library_)->create(parameters.c_str(), columns, error.data(), error.size());
  error.back() = '\0';
  if (handle_ == nullptr) throw ConfigError(fmt::format("plugin {}: {}", library_->path(), error.data()));
  dim_ = (*library_)->dim(handle_);
  if (dim_ == 0) {
    (*library_)->destroy(handle_);
    throw ConfigError(fmt::format("plugin {}: a model without parameters", library_->path()));
  }
}

// What must not count gets a NaN label, and a NaN loss whatever the plugin makes of it.
void Plugin::losses(const Rows& rows, std::span<double> out) {
  const std::size_t count = rows.size(), at_once = (*library_)->row_invariant == 1 ? count : 1;
  verify(count <= micro_batch_rows(), "at most micro_batch_rows() rows at once");
  copy_rows(rows, stride_, records_.data());
  for (std::size_t r = 0; r < count; ++r) {
    const std::uint32_t i = rows.index[r];
    labels_[r] = takes_part(rows.records, i) ? rows.records.label[i] : std::numeric_limits<float>::quiet_NaN();
  }
  for (std::size_t r = 0; r < count; r += at_once)
    (*library_)->loss(handle_, w_.data(), records_.data() + r * stride_, stride_, at_once, labels_.data() + r,
                      out.data() + r);
  for (std::size_t r = 0; r < count; ++r)
    if (!std::isfinite(labels_[r])) out[r] = std::numeric_limits<double>::quiet_NaN();
}

std::set<std::string>& permitted() {
  static std::set<std::string> files;
  return files;
}

class PluginBuilder : public LibraryBuilder {
 public:
  void declare(Options& options) override {
    options.add("library", path_, "shared object of a black-box loss, as a path (see include/dpmpi/plugin.h)");
    options.add("library_digest", digest_, "its SHA-256: another file is not loaded (empty: that of the file)");
    options.add("parameters", parameters_, "text that the plugin reads, e.g. quantile=0.9");
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Plugin>(loaded(), parameters_, facts);
  }
  LabelKind label_kind() const override { return loaded()->label_kind(); }
  std::size_t classes() const override { return loaded()->classes(parameters_); }

  const std::string& library() const override { return path_; }
  void identify() override {
    if (path_.empty()) return;  // make() says so
    if (path_.find('/') == path_.npos)
      throw ConfigError(fmt::format(
          "objective.library = {0}: write a path, ./{0} say: the loader looks for bare names in folders of its own",
          path_));
    const std::string found = digest_of_file();
    if (digest_.empty()) digest_ = found;
    refuse_other(found);
  }
  void refuse(std::string why) override { refusal_ = std::move(why); }
  const std::string& refusal() const override { return refusal_; }

 private:
  const std::shared_ptr<const PluginLibrary>& loaded() const {
    if (path_.empty())
      throw ConfigError("objective.library is missing: objective.name = plugin needs a shared object");
    if (!refusal_.empty() && !permitted().contains(path_)) throw ConfigError(refusal_);
    if (library_ && library_->path() == path_) return library_;
    if (!digest_.empty()) refuse_other(digest_of_file());
    return library_ = std::make_shared<PluginLibrary>(path_);
  }
  std::string digest_of_file() const {
    try {
      return file_digest(path_, file_limit::library);
    } catch (const DataError& e) {
      throw ConfigError(fmt::format("cannot load the plugin {}: {}", path_, e.what()));
    }
  }
  void refuse_other(const std::string& found) const {
    if (found != digest_)
      throw PrivacyError(
          fmt::format("the plugin {} is not the one of objective.library_digest: its SHA-256 is {}, where {} was "
                      "recorded. It was not loaded",
                      path_, found, digest_));
  }

  std::string path_, digest_, parameters_, refusal_;
  mutable std::shared_ptr<const PluginLibrary> library_;
};

const ObjectiveRegistration plugin{
    {"plugin", "a black-box loss from a shared object, for zeroth-order methods", make_builder<PluginBuilder>}};

}  // namespace

void permit_library(const std::string& library) { permitted().insert(library); }

}  // namespace dpmpi
