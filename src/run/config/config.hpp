#pragma once
// A run's configuration: read once, checked as a whole, written back resolved.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/load/data_files.hpp"
#include "data/records/options.hpp"
#include "method/method.hpp"
#include "method/tuning/tuned_training.hpp"
#include "objective/objective.hpp"
#include "run/config/sections.hpp"
#include "run/config/start.hpp"

namespace dpmpi {

/// Whose word a config is: the user's, who named the file, or that of a run directory, which may come from anybody.
enum class ConfigOf { user, run };

class LibraryBuilder;
class TrainingBuilder;

class RunConfig {
 public:
  /// Reads `path` and applies `overrides` ("section.key=value"). Throws ConfigError that lists every problem at
  /// once. A file that a user names counts as that of a run, too, if it stands beside the files of one.
  RunConfig(const std::string& path, const std::vector<std::string>& overrides, ConfigOf whose = ConfigOf::user);
  /// The same with settings that were read from `path` before, and, where that holds it, the text of data.columns.
  RunConfig(const Settings& as_given, const std::string& path, ConfigOf whose = ConfigOf::user,
            const std::string& columns = "");
  RunConfig(const RunConfig&) = delete;

  RunOptions run;
  DataOptions data;
  PrivacyOptions privacy;
  PrepareOptions prepare;
  StartOptions start;
  ReportOptions report;
  AuditOptions audit;
  TuningOptions tune;
  std::string objective_name = "logistic", method_name = "dp-sgd";
  double l2 = 0;
  std::unique_ptr<ObjectiveEntry::Builder> objective;
  std::unique_ptr<MethodSettings> method;  ///< with tune.search that which chooses among trainings by method_name

  /// The objective's builder if that trains models by a config of its own, else null.
  TrainingBuilder* training() const;
  /// That config, of objective.trainer; null: there is none.
  const RunConfig* trainer() const;

  /// The file may come from anybody: code that it names, and --set does not, is not loaded.
  bool of_run_directory() const { return of_run_directory_; }
  /// The objective's builder if that is code in a file which the config names, else null.
  LibraryBuilder* library() const;

  /// Every option with its value, as an INI file that gives this run again (where objective.trainer is set, beside
  /// the resolved config of that as trainer_file); without a [tune] that chooses nothing.
  std::string resolved() const;
  /// Everything that the numbers depend on, as "section.key = value" lines: all options but [run], [report],
  /// [audit], a [tune] that chooses nothing, and where the data lies; those of objective.trainer's config too, as
  /// "trainer.section.key".
  std::string essentials() const;
  /// True of essentials(), and where it lacks lines of options that have their defaults: later versions add some.
  bool has_essentials(const std::string& lines) const;
  /// SHA-256 of those of them that differ from their defaults: what a later version adds changes no run's digest.
  std::string digest() const;
  /// True of that, and of the SHA-256 of essentials(), which earlier versions took.
  bool has_digest(const std::string& digest) const;
  /// False: privacy.noise = none, a baseline whose certificate says epsilon = infinity.
  bool is_private() const { return !privacy.noiseless(); }
  /// True: settings are chosen by private search, which is part of the promise.
  bool tunes() const { return !tune.search.empty(); }
  const std::string& path() const { return path_; }
  /// Names of the settings that are left to the program (automatic.hpp). Nothing is planned while there are any:
  /// run/suggest makes the config in which numbers stand in their place.
  const std::vector<std::string>& automatic() const { return automatic_; }
  /// Looks for the data files that it names, and for `given`, which a command line names in place of data.eval.
  /// Once for a command: what needs a file is handed what was found. Local.
  DataFiles find_files(const std::string& given = {}) const;
  bool given(const std::string& name) const;  ///< "section.key" was set by the user
  /// Name ("section.key") and text of the options of a section that differ from their defaults.
  std::vector<std::pair<std::string, std::string>> set_in(const std::string& section) const;
  std::string value(const std::string& name) const;  ///< of "section.key" as text; empty if nothing declares it
  bool whole(const std::string& name) const;         ///< "section.key" takes one whole number

  /// Whether this text of an option's value means that the option is not set.
  bool means_unset(const std::string& name, const std::string& text) const;

  static constexpr const char* trainer_file = "trainer.ini";
  /// The copy of data.columns there.
  static constexpr const char* columns_file = "columns.txt";

 private:
  const Options::Declaration* find(const std::string& name) const;
  std::string resolved_value(const Options::Declaration& declaration) const;
  std::string essential_lines(bool with_defaults) const;
  void read_trainer(const Settings& settings, std::vector<std::string>& problems);
  void check_prepare(std::vector<std::string>& problems) const;
  void check_prepared_group(const ColumnsFile& columns, std::vector<std::string>& problems) const;
  void choose_among_trainings(const Settings& settings, std::vector<std::string>& problems);
  void look_at_library(const Settings& settings);

  std::string path_;
  bool of_run_directory_;
  std::vector<std::string> automatic_;
  std::unique_ptr<MethodSettings> named_;  // with tune.search that of method_name, whose fields [method] fills
  std::vector<std::unique_ptr<Options>> sections_;
};

}  // namespace dpmpi
