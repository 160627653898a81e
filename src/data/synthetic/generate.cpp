#include "data/synthetic/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "data/formats/write.hpp"
#include "data/records/builder.hpp"
#include "data/synthetic/heavy_tails.hpp"
#include "data/synthetic/hospital.hpp"
#include "data/synthetic/smooth_function.hpp"
#include "data/synthetic/transitions.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t rank = 5;            // of the common part
constexpr double common = 0.8, own = 0.6;  // standard deviations of the two parts: 0.8^2 + 0.6^2 = 1
constexpr double threshold = 1.5, label_noise = 0.5, flip_rate = 0.03;
constexpr double separation = 0.6;   // standard deviation of the blobs' centres
constexpr double noise_scale = 0.5;  // of regression
constexpr double weak = 0.3, amplitude = 0.9, phase_noise = 0.05, outlier_rate = 0.1;  // of phase

/// Only + - * / and sqrt on portable normals: the same bits everywhere.
double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> normals(std::uint64_t seed, std::string_view purpose, std::uint64_t step, std::size_t count) {
  std::vector<double> out(round_up(count, 2));
  PublicStream(seed, purpose, step).normals(0, out);
  return out;
}

/// sqrt(3 / chi2_3): a Gaussian vector times this is multivariate Student-t with 3 degrees of freedom.
double student_factor(const double* three_normals) { return std::sqrt(3 / dot(three_normals, three_normals, 3)); }

/// Features with low-rank correlation, and a direction w with unit variance of <w, x>.
struct LinearModel {
  std::size_t features;
  std::vector<double> loading;  // features x rank
  std::vector<double> weight;

  LinearModel(std::uint64_t seed, std::size_t d)
      : features(d),
        loading(normals(seed, "generate loadings", 0, d * rank)),
        weight(normals(seed, "generate weights", 0, d)) {
    for (double& x : loading) x *= common / std::sqrt(static_cast<double>(rank));
    double variance = own * own * dot(weight.data(), weight.data(), d);
    for (std::size_t k = 0; k < rank; ++k) {
      double along = 0;
      for (std::size_t j = 0; j < d; ++j) along += weight[j] * loading[j * rank + k];
      variance += along * along;
    }
    for (double& x : weight) x /= std::sqrt(variance);
  }

  /// x = factor (L z + e) from rank + features normals; returns <w, x>.
  double fill(const double* normal, double factor, float* x) const {
    double score = 0;
    for (std::size_t j = 0; j < features; ++j) {
      const double value = factor * (dot(&loading[j * rank], normal, rank) + own * normal[rank + j]);
      x[j] = static_cast<float>(value);
      score += weight[j] * value;
    }
    return score;
  }
};

void heavy_tailed(const GenerateOptions& o, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const auto seed = static_cast<std::uint64_t>(o.seed);
  const LinearModel model(seed, out.features());
  const PublicStream flips(seed, "generate flips");
  for (std::uint64_t i = first; i < first + count; ++i) {
    const auto normal = normals(seed, "generate record", i, 4 + rank + model.features);
    const double score = model.fill(&normal[4], student_factor(normal.data()), out.dense_row());
    const bool positive = score + label_noise * normal[3] > threshold;
    out.finish_row(positive != (flips.uniform(i) < flip_rate) ? 1.0F : -1.0F);
  }
}

void blobs(const GenerateOptions& o, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const auto seed = static_cast<std::uint64_t>(o.seed), classes = static_cast<std::uint64_t>(o.classes);
  const std::size_t d = out.features();
  const auto centre = normals(seed, "generate centres", 0, d * classes);
  const PublicStream choice(seed, "generate classes");
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::uint64_t c = choice.below(i, classes);
    const auto normal = normals(seed, "generate record", i, d);
    for (std::size_t j = 0; j < d; ++j)
      out.dense_row()[j] = static_cast<float>(separation * centre[c * d + j] + normal[j]);
    out.finish_row(static_cast<float>(c));
  }
}

void regression(const GenerateOptions& o, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const auto seed = static_cast<std::uint64_t>(o.seed);
  const LinearModel model(seed, out.features());
  for (std::uint64_t i = first; i < first + count; ++i) {
    const auto normal = normals(seed, "generate record", i, 4 + rank + model.features);
    const double score = model.fill(&normal[4], 1, out.dense_row());
    out.finish_row(static_cast<float>(score + noise_scale * student_factor(normal.data()) * normal[3]));
  }
}

// With four strong features and the others weak, |a| = 1. The signal is (.9, -.9, .9, -.9, 0, ...).
void phase(const GenerateOptions& o, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const auto seed = static_cast<std::uint64_t>(o.seed);
  const std::size_t d = out.features(), strong = std::min<std::size_t>(4, d);
  const PublicStream outliers(seed, "generate outliers");
  std::vector<double> a(d);
  for (std::uint64_t i = first; i < first + count; ++i) {
    const auto normal = normals(seed, "generate record", i, 1 + d);
    for (std::size_t j = 0; j < d; ++j) a[j] = (j < strong ? 1 : weak) * normal[1 + j];
    const double norm = std::sqrt(dot(a.data(), a.data(), d));
    double along = 0;
    for (std::size_t j = 0; j < d; ++j) {
      out.dense_row()[j] = static_cast<float>(a[j] / norm);
      if (j < strong) along += (j % 2 == 0 ? amplitude : -amplitude) * a[j] / norm;
    }
    const double measured = std::abs(std::abs(along) + phase_noise * normal[0]);
    out.finish_row(static_cast<float>(measured + (outliers.uniform(i) < outlier_rate ? 1 : 0)));
  }
}

std::string output_format(const GenerateOptions& options, const std::string& path) {
  if (options.format != "auto") return options.format;
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".csv") return "csv";
  if (names_hdf5(path)) return "hdf5";
  return ending == ".libsvm" || ending == ".svm" ? "libsvm" : "native";
}

std::string default_eval_output(const std::string& output) {
  const std::filesystem::path path(output);
  return (path.parent_path() / (path.stem().string() + "-eval" + path.extension().string())).string();
}

}  // namespace

void GenerateOptions::declare(Options& options) {
  options.add("kind", kind, "Synthetic dataset",
              {"heavy-tailed", "blobs", "regression", "phase", "cartpole", "acrobot", "gridworld", "pareto-linear",
               "pareto-logistic", "pareto-mean", "two-point", "smooth", "hospital"});
  options.add("records", records, "Training records", Range::closed(1, 1e9));
  options.add("eval_records", eval_records, "Evaluation records, from the same distribution; 0: none",
              Range::closed(0, 1e9));
  options.add("features", features, "Features (the environments have their own)", Range::closed(1, 1e6));
  options.add("classes", classes, "Classes of blobs", Range::closed(2, 1e4));
  options.add("episode_steps", episode_steps,
              "Environments: a record is an episode with room for so many transitions; 0: it is a transition",
              Range::closed(0, 1e5));
  options.add(
      "moment", moment,
      "Order k of the moments that pareto-linear, pareto-logistic and two-point have; tail index of pareto-mean, which has those below k",
      Range{.low = 2, .low_open = false});
  options.add("skewed", skewed, "pareto-linear, pareto-logistic: records of large norm follow another model");
  options.add("probability", probability, "two-point: share of the records that are not zero",
              Range{.low = 0, .high = 1, .high_open = false});
  options.add("seed", seed, "Public seed: the data are a function of it", Range::non_negative());
  options.add("output", output, "File for the training records; its folder is made if it is missing");
  options.add("eval_output", eval_output, "File for the evaluation records; empty: the output's name with -eval");
  options.add("format", format, "File format; auto goes by the output's extension",
              {"auto", "csv", "libsvm", "hdf5", "native"});
  options.add("separator", separator,
              "hospital: what stands between fields; with semicolon decimals have a comma, and days are 31.12.2019",
              {"comma", "semicolon"});
}

Records generate_records(const GenerateOptions& options, std::uint64_t first, std::uint64_t count) {
  const bool environment = is_environment(options.kind);
  const auto steps = static_cast<std::size_t>(options.episode_steps);
  if (steps > 0 && !environment)
    throw ConfigError(fmt::format("generate: episode_steps is for environments, and {} is none", options.kind));
  const std::size_t features = !environment ? static_cast<std::size_t>(options.features)
                               : steps > 0  ? steps * (transition_features(options.kind) + 1)
                                            : transition_features(options.kind);
  RecordsBuilder out(Storage::dense_f32, features, count, {.bias = 0});
  Progress progress("generating " + options.kind, count, "records");
  out.report_to(progress);
  if (options.kind == "heavy-tailed")
    heavy_tailed(options, first, count, out);
  else if (options.kind == "blobs")
    blobs(options, first, count, out);
  else if (options.kind == "regression")
    regression(options, first, count, out);
  else if (options.kind == "phase")
    phase(options, first, count, out);
  else if (environment && steps > 0)
    add_episodes(options.kind, static_cast<std::uint64_t>(options.seed), first, count, steps, out);
  else if (has_heavy_tails(options.kind))
    add_heavy_tails(options, first, count, out);
  else if (options.kind == "smooth")
    add_smooth_function(static_cast<std::uint64_t>(options.seed), first, count, out);
  else if (environment)
    add_transitions(options.kind, static_cast<std::uint64_t>(options.seed), first, count, out);
  else
    verify(false, "kinds are those that the options declare");
  return out.take();
}

void generate(const GenerateOptions& options) {
  if (options.output.empty()) throw ConfigError("generate needs an output file");
  const auto records = static_cast<std::uint64_t>(options.records),
             eval = static_cast<std::uint64_t>(options.eval_records);
  const std::string format = output_format(options, options.output);
  const std::string path = options.eval_output.empty() ? default_eval_output(options.output) : options.eval_output;
  const std::string target = output_target(options.output);  // both are checked before the work begins
  if (eval > 0 && output_target(path) == target)
    throw ConfigError(fmt::format("generate: output and eval_output are the same file {}", target));
  if (options.kind == "hospital") {
    if (options.format != "auto" && options.format != "csv")
      throw ConfigError(
          fmt::format("generate: hospital is a table of words: format is {}, allowed: csv", options.format));
    const bool semicolon = options.separator == "semicolon";
    const TableStyle style{semicolon ? ';' : ',', semicolon};
    write_hospital(options.output, static_cast<std::uint64_t>(options.seed), 0, records, style);
    if (eval > 0) write_hospital(path, static_cast<std::uint64_t>(options.seed), records, eval, style);
    return;
  }
  write_records(options.output, format, generate_records(options, 0, records));
  if (eval == 0) return;
  write_records(path, output_format(options, path), generate_records(options, records, eval));
}

}  // namespace dpmpi
