#include "run/train/prepare_columns.hpp"

#include <memory>
#include <string>

#include "core/console/heartbeat.hpp"
#include "core/console/print.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "run/train/read_inputs.hpp"

namespace dpmpi {
namespace {

void read_by(const std::shared_ptr<const ColumnsFile>& columns, const std::string& normalize, DataFiles& files) {
  for (Dataset* const dataset : {&files.training, &files.evaluation}) {
    dataset->rules.columns_file = columns;
    dataset->rules.normalize = normalize;
  }
}

}  // namespace

void read_as_they_stand(const RunConfig& config, DataFiles& files) {
  if (!config.prepare.on() || !config.data.columns_file) return;
  read_by(std::make_shared<const ColumnsFile>(as_they_stand(*config.data.columns_file)), "none", files);
}

void prepare_columns(Training& run) {
  if (!run.preparation) return;
  const auto start = Training::Clock::now();
  Preparation& preparation = *run.preparation;
  if (run.next == 0) preparation.release(*run.curator, run.plan.preparing(), run.column_places);
  verify(preparation.released(), "a run that goes on knows its preparation");
  fault_point("prepared");
  if (run.root) write_file(run.root->file(PreparationPlan::results), preparation.json().dump(2) + "\n");
  read_by(std::make_shared<const ColumnsFile>(preparation.columns()), run.config.data.normalize, run.files);
  read_records_again(run);
  if (run.prints())
    print_user("prepared {} columns and read the data again in {}\n", run.plan.preparation.columns,
               duration_text(seconds_since(start)));
}

}  // namespace dpmpi
