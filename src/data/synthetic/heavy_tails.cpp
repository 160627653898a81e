#include "data/synthetic/heavy_tails.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/aligned.hpp"
#include "core/numbers/portable_exp.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {
namespace {

constexpr double more_for_features = 0.25,
                 more_for_noise = 0.1;  // tail indices above k, so that moment k is finite
constexpr double far = 1.5;             // skewed labels: records whose radius is above this follow another model

/// The uniform numbers of a record, by their use.
enum Draw : std::uint64_t { radius_of, label_of, noise_radius, noise_angle };

/// Pareto with this tail index, at least 1: P(r > t) = t^-index.
double pareto(double uniform, double index) { return portable_exp(-portable_log(uniform) / index); }

/// Student-t with any degrees of freedom, from two uniform numbers (Bailey 1994).
double student(double u, double v, double degrees) {
  return std::sqrt(degrees * (portable_exp(-2 / degrees * portable_log(u)) - 1)) * portable_cos_pi(v);
}

/// Features r g with g ~ N(0, I) and a Pareto radius of E r^2 = 1. Labels by the hidden w = (1, -1, 1, ...) /
/// sqrt(d); of skewed records with a large radius by (1, 1, 1, ...) / sqrt(d).
void heavy_tailed_regression(const GenerateOptions& o, std::uint64_t first, std::uint64_t count,
                             RecordsBuilder& out) {
  const auto seed = static_cast<std::uint64_t>(o.seed);
  const std::size_t d = out.features();
  const double index = o.moment + more_for_features, unit = std::sqrt((index - 2) / index);
  const bool logistic = o.kind == "pareto-logistic";
  std::vector<double> normal(round_up(d, 2));
  for (std::uint64_t i = first; i < first + count; ++i) {
    PublicStream(seed, "generate record", i).normals(0, normal);
    const PublicStream uniform(seed, "generate tails", i);
    const double r = unit * pareto(uniform.uniform(radius_of), index);
    double even = 0, odd = 0;
    for (std::size_t j = 0; j < d; ++j) {
      out.dense_row()[j] = static_cast<float>(r * normal[j]);
      (j % 2 == 0 ? even : odd) += r * normal[j];
    }
    const double score = (o.skewed && r > far ? even + odd : even - odd) / std::sqrt(static_cast<double>(d));
    if (logistic) {
      const double clamped = score > 30 ? 30 : score < -30 ? -30 : score;
      out.finish_row(uniform.uniform(label_of) * (1 + portable_exp(-clamped)) < 1 ? 1.0F : -1.0F);
    } else {
      const double noise =
          student(uniform.uniform(noise_radius), uniform.uniform(noise_angle), o.moment + more_for_noise);
      out.finish_row(static_cast<float>(score + noise));
    }
  }
}

void mean(const GenerateOptions& o, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    const PublicStream uniform(static_cast<std::uint64_t>(o.seed), "generate tails", i);
    out.dense_row()[0] = static_cast<float>(pareto(uniform.uniform(radius_of), o.moment));
    out.finish_row(-1);
  }
}

void two_point(const GenerateOptions& o, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const std::size_t d = out.features();
  const auto value = static_cast<float>(pareto(o.probability, o.moment) / std::sqrt(static_cast<double>(d)));
  for (std::uint64_t i = first; i < first + count; ++i) {
    const PublicStream uniform(static_cast<std::uint64_t>(o.seed), "generate tails", i);
    if (uniform.uniform(radius_of) < o.probability)
      for (std::size_t j = 0; j < d; ++j) out.dense_row()[j] = j % 2 == 0 ? value : -value;
    out.finish_row(-1);
  }
}

}  // namespace

bool has_heavy_tails(std::string_view kind) {
  return kind == "pareto-linear" || kind == "pareto-logistic" || kind == "pareto-mean" || kind == "two-point";
}

void add_heavy_tails(const GenerateOptions& options, std::uint64_t first, std::uint64_t count,
                     RecordsBuilder& out) {
  if (options.kind == "pareto-mean") return mean(options, first, count, out);
  if (options.kind == "two-point") return two_point(options, first, count, out);
  heavy_tailed_regression(options, first, count, out);
}

}  // namespace dpmpi
