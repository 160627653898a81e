// Records that a finished run's generator makes.

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "run/evaluate/samples.hpp"
#include "run/evaluate/trained_model.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t most_on_a_sheet = 10000;

struct SampleRequest {
  std::string run, output;
  std::int64_t records = 1000, seed = 1;

  std::uint64_t count() const { return static_cast<std::uint64_t>(records); }
};

void prepare(const SampleRequest& typed) {
  const bool sheet = typed.output.ends_with(".png");
  if (!sheet && !typed.output.ends_with(".csv") && !typed.output.ends_with(".npy"))
    throw ConfigError(fmt::format("--output {}: its name must end with .csv, .npy or .png", typed.output));
  if (sheet && typed.count() > most_on_a_sheet)
    throw ConfigError(
        fmt::format("--records {}: a sheet (.png) has at most {} pictures", typed.records, most_on_a_sheet));
}

int run_sample(const SampleRequest& typed) {
  const auto config = finished_run(typed.run, {});
  refuse_part_of_run(typed.output);
  keep_inputs(*config, config->find_files(""), typed.output);
  ModelAlone model = read_model_alone(typed.run, *config);
  if (!model.objective->generator())
    throw ConfigError(fmt::format(
        "the model of {} makes no records: that is what runs with objective.name = wgan are for", typed.run));
  write_samples(*model.objective, model.parameters, static_cast<std::uint64_t>(typed.seed), typed.count(),
                typed.output);
  print_at(LogLevel::info, "wrote {} records to {}\n", typed.records, typed.output);
  return printed();
}

}  // namespace

Command sample_command() {
  const auto typed = std::make_shared<SampleRequest>();
  return {
      .name = "sample",
      .forms = {{"dpmpi sample RUN --output OUT.csv|.npy|.png", "records that a run's generator makes"}},
      .about =
          "Records that the generator of a finished run makes (objective.name = wgan). OUT.csv has a column for each\n"
          "feature, OUT.npy is float32, records x features, OUT.png shows images side by side. A feature is as the model\n"
          "sees it, after [data]'s scaling, from -1 to 1. With objective.classes = K the K classes take turns, OUT.csv\n"
          "begins with the column label, and OUT.png has a column for each class.\n\n"
          "The records follow from the model and the seed alone. The run's certificate covers them, however many are made.",
      .options = Options("")
                     .add("run", typed->run, "the run directory")
                     .add("output", typed->output, "the records: a name that ends with .csv, .npy or .png")
                     .add("records", typed->records, "how many", Range::at_least(1))
                     .add("seed", typed->seed, "another seed makes other records", Range::at_least(0)),
      .arguments = {"run"},
      .needed = {"run", "output"},
      .prepare = [typed] { prepare(*typed); },
      .run = [typed](const Communicator&) { return run_sample(*typed); }};
}

}  // namespace dpmpi
