// Help and lists, from the options' own declarations.

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/audit.hpp"
#include "cli/command_line.hpp"
#include "cli/evaluate.hpp"
#include "cli/reference.hpp"
#include "cli/tools.hpp"
#include "core/errors.hpp"
#include "data/load/convert.hpp"
#include "data/synthetic/generate.hpp"
#include "run/config/config.hpp"
#include "run/config/removed.hpp"

namespace dpmpi {
namespace {

std::string option_lines(const Options& options) {
  std::string text;
  for (const auto& d : options.declarations())
    text += fmt::format("  {:<28} {}\n  {:<28} {}; {}\n", d.name, d.help, "", d.allowed, d.default_text());
  return text;
}

template <class Declarer>
std::string section_help(const char* name, Declarer&& declarer) {
  Options options(name);
  declarer.declare(options);
  return fmt::format("[{}]\n{}", name, option_lines(options));
}

const std::map<std::string, std::string> command_help{
    {"train",
     "mpirun -n N dpmpi [train] --config FILE [--set section.key=value]... [--log-level LEVEL | --quiet]\n\n"
     "Trains a model into a new run directory, whose name is the last line of its output.\n"
     "Settings: dpmpi help run | data | objective | method | privacy | report\n\n"
     "  --log-level      of every command: error, warning, info (default), debug: every rank's phases with times,\n"
     "                   checkpoints, ledger lines; such a log must not be published\n"
     "  --quiet          --log-level warning: no settings, progress, summary, report.html\n"},
    {"resume",
     "mpirun -n N dpmpi resume RUN [--set run.key=value]... [--log-level LEVEL | --quiet]\n\n"
     "Goes on from the newest checkpoint of a stopped or killed run, on any number of ranks.\n"
     "Settings of [run] and [report] and data.root may be changed.\n"},
    {"plan",
     "dpmpi plan --config FILE [--set section.key=value]... [--ranks 1,2,4,8] [--json]\n"
     "mpirun -n N dpmpi plan --config FILE --measure ...\n\n"
     "Prints the settings, the privacy promise and the cost of a step; reads headers and counts lines, but no value.\n\n"
     "  --ranks          numbers of ranks to predict the time for\n"
     "  --measure        predict by this machine's rates, measured on synthetic records\n"
     "  --json           print JSON\n"},
    {"report",
     "dpmpi report RUN [RUN...] [--output FILE] [--times]\n\n"
     "A page for people: the promise, what an attacker can find out, public metrics over steps and over epsilon,\n"
     "settings, ROC curve, noise of running sums, samples; for several runs these beside each other, with slopes if\n"
     "they are a sweep. Written to RUN/report.html, for several runs to report.html. It holds nothing that is not\n"
     "public; training writes it too, unless it is --quiet. Plots need gnuplot.\n\n"
     "  --output         another file\n"
     "  --times          also where the time of each rank went; such a page must not be published\n"},
    {"list", "dpmpi list [methods|objectives|formats]\n\nWhat a config can name, with a line on each.\n"},
    {"help",
     "dpmpi help [METHOD|OBJECTIVE|SECTION|COMMAND]\n\nOptions with their meaning, range and default.\n\n"
     "  help reference     all of them on one page (Markdown)\n"
     "  help man           the manual page: dpmpi help man | man -l -\n"
     "  help completion    for bash: source <(dpmpi help completion)\n"}};

// What every objective and every method has.
struct CommonObjective {
  std::string name = "logistic";
  double l2 = 0;
  void declare(Options& o) { declare_objective(o, name, l2); }
};
struct CommonMethod {
  std::string name = "dp-sgd";
  void declare(Options& o) { declare_method(o, name); }
};

}  // namespace

std::vector<std::string> help_topics() {
  std::vector<std::string> topics = command_names();
  for (const char* section : {"run", "data", "objective", "method", "privacy"}) topics.emplace_back(section);
  for (const char* page : {"reference", "man", "completion"}) topics.emplace_back(page);
  for (const auto& entry : methods()) topics.push_back(entry.name);
  for (const auto& entry : objectives()) topics.push_back(entry.name);
  return topics;
}

std::string help_topic(const std::string& topic) {
  if (topic == "run") return section_help("run", RunOptions());
  if (topic == "data") return section_help("data", DataOptions());
  if (topic == "objective")
    return section_help("objective", CommonObjective()) + "\nand the options of the chosen one: dpmpi help NAME\n";
  if (topic == "method")
    return section_help("method", CommonMethod()) + "\nand the options of the chosen one: dpmpi help NAME\n";
  if (topic == "generate")
    return "dpmpi generate --output FILE [--option value]...\n\n" + section_help("generate", GenerateOptions());
  if (topic == "convert")
    return "dpmpi convert IN OUT [--set data.key=value]...   how IN is read: dpmpi help data\n\n" +
           section_help("convert", ConvertOptions());
  if (const auto found = command_help.find(topic); topic != "report" && found != command_help.end())
    return found->second;
  if (topic == "account") return account_help();
  if (topic == "calibrate") return calibrate_help();
  if (topic == "verify") return verify_help();
  if (topic == "reference") return reference_page();
  if (topic == "man") return manual_page();
  if (topic == "completion") return bash_completion();
  if (topic == "evaluate") return evaluate_help();
  if (topic == "predict") return predict_help();
  if (topic == "audit") return audit_help() + "\n" + section_help("audit", AuditOptions());
  if (topic == "privacy") return section_help("privacy", PrivacyOptions());
  if (topic == "report") return command_help.at("report") + "\n" + section_help("report", ReportOptions());
  for (const auto& entry : methods()) {
    if (entry.name != topic) continue;
    const auto method = entry.make();
    return fmt::format("method.name = {}: {}\nSource: {}\n\n{}", entry.name, entry.summary, entry.source,
                       section_help("method", *method));
  }
  for (const auto& entry : objectives()) {
    if (entry.name != topic) continue;
    const auto builder = entry.builder();
    return fmt::format("objective.name = {}: {}\n\n{}", entry.name, entry.summary,
                       section_help("objective", *builder)) +
           "  and objective.name, objective.l2 (dpmpi help objective)\n";
  }
  if (const std::string instead = instead_of("method.name", topic); !instead.empty())
    throw ConfigError(fmt::format("method.name = {} was removed: {}", topic, instead));
  const auto known = help_topics();
  const auto nearest = nearest_name(topic, known);
  throw ConfigError(fmt::format("no help on '{}'{}; topics: {}", topic,
                                nearest.empty() ? "" : " (did you mean " + nearest + "?)", fmt::join(known, ", ")));
}

std::string list_text(const std::string& what) {
  std::string text;
  if (what.empty() || what == "methods") {
    text += "methods (method.name)\n";
    for (const auto& entry : methods())
      text += fmt::format("  {:<22} {} [{}]\n", entry.name, entry.summary, entry.source);
  }
  if (what.empty() || what == "objectives") {
    text += "objectives (objective.name)\n";
    for (const auto& entry : objectives()) text += fmt::format("  {:<18} {}\n", entry.name, entry.summary);
  }
  if (what.empty() || what == "formats") {
    text += "formats (data.format)\n";
    for (const auto& [name, summary] : std::vector<std::pair<std::string, std::string>>{
             {"libsvm", "text, `label index:value ...`, kept sparse (gzip allowed)"},
             {"csv, tsv", "text tables with or without a header line (gzip allowed)"},
             {"idx", "MNIST family, `images,labels`; 8-bit rows stay 8-bit (gzip allowed)"},
             {"npy", "NumPy arrays, `features.npy,labels.npy`"},
             {"native", "fixed records with a checksummed header, made by dpmpi convert"}})
      text += fmt::format("  {:<18} {}\n", name, summary);
  }
  if (text.empty()) throw ConfigError(fmt::format("dpmpi list {}: one of methods, objectives, formats", what));
  return text;
}

}  // namespace dpmpi
