// A page about a run, or about several.

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/look/look_page.hpp"
#include "run/look/verify_look.hpp"
#include "run/report/report.hpp"

namespace dpmpi {
namespace {

/// What is replaced has to be a page.
void refuse_other_file(const std::string& path) {
  constexpr std::string_view beginning = "<!DOCTYPE html>";
  if (!std::filesystem::exists(path)) return;
  FileReader file(path);
  std::string found(std::min<std::uint64_t>(beginning.size(), file.left()), '\0');
  file.read(found);
  if (found != beginning)
    throw ConfigError(fmt::format("{} is there, and is no report: give another name for the output", path));
}

struct ReportRequest {
  std::vector<std::string> runs;
  std::string output;
  bool times = false;
};

int run_report(const ReportRequest& typed) {
  const std::vector<std::string> runs = distinct_runs(typed.runs);
  const std::string path =
      !typed.output.empty() ? typed.output : (runs.size() == 1 ? runs[0] + "/" : "") + "report.html";
  constexpr int of_all = 0644, of_owner = 0600;  // times are not to be published
  refuse_part_of_run(path);
  refuse_other_file(path);
  const bool of_look = runs.size() == 1 && is_look(runs[0]);
  const std::string page = of_look ? look_page(runs[0]) : report_html(runs, typed.times);
  write_file(output_target(path), page, typed.times ? of_owner : of_all);
  fmt::print("{}\n", path);
  return printed();
}

}  // namespace

Command report_command() {
  const auto typed = std::make_shared<ReportRequest>();
  return {
      .name = "report",
      .forms = {{"dpmpi report RUN [RUN...]", "a page (report.html) about a run, or on several beside each other"},
                {"dpmpi report LOOK", "the page about the folder of a later look (dpmpi evaluate --private)"}},
      .about =
          "A page for people who decide: the promise and the result, what they mean, how good the model is beside a\n"
          "constant, which classes it confuses, whether its probabilities can be believed, its largest weights, what an\n"
          "attacker can find out, noise, settings; for several runs these beside each other, with slopes if they are a\n"
          "sweep. Written to RUN/report.html, for several runs to report.html. It holds nothing that is not public;\n"
          "training writes it too, unless it is --quiet.",
      .options = Options("")
                     .add_each("run", typed->runs, "a run directory, or the folder of one look")
                     .add("output", typed->output, "another file")
                     .add("times", typed->times,
                          "also where the time of each rank went; such a page must not be published"),
      .arguments = {"run"},
      .needed = {"run"},
      .run = [typed](const Communicator&) { return run_report(*typed); }};
}

}  // namespace dpmpi
