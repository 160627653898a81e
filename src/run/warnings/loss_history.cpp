#include "run/warnings/loss_history.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"

namespace dpmpi {
namespace {

constexpr double far = 1;           // of the start's size, above it
constexpr double most_of_it = 0.5;  // of what was won
constexpr double notable = 0.2;     // of the best loss's size
constexpr const char* remedy =
    "The run diverges: take a smaller rate (method.rate, where the method has one), or scale the features";

Warning divergence(std::string text, std::uint64_t step, double loss) {
  return {"divergence", std::move(text), {{"step", step}, {"loss", three_digits(loss)}}};
}

}  // namespace

std::string LossHistory::from_to(double from, std::uint64_t step, double to) const {
  return fmt::format("the {} on data.eval was {:.3g} after step {} and is {:.3g}", name_, from, step, to);
}

std::optional<Warning> LossHistory::look(std::uint64_t step, const Evaluation& evaluation, bool last) const {
  const double loss = evaluation.loss;
  if (evaluation.not_finite > 0)
    return divergence(
        fmt::format("after step {} the {} of {} of the {} records of data.eval is not a finite number. {}", step,
                    name_, evaluation.not_finite, evaluation.records, remedy),
        step, loss);
  if (!start_ || !minimised_) return {};
  const double start = start_->loss, size = std::max(std::abs(start), std::abs(best_->loss));
  if (loss - start > far * size)
    return divergence(
        fmt::format("after step {} the {} on data.eval is {:.3g}, far above the {:.3g} of the start point. "
                    "{}",
                    step, name_, loss, start, remedy),
        step, loss);
  if (!last) return {};
  if (loss - start > notable * size)
    return divergence(fmt::format("{}: training made it worse. {}", from_to(start, 0, loss), remedy), step, loss);
  if (loss - best_->loss > std::max(most_of_it * (start - best_->loss), notable * std::abs(best_->loss)))
    return divergence(fmt::format("{}: most of what was learned was lost again. {}",
                                  from_to(best_->loss, best_->step, loss), remedy),
                      step, loss);
  return {};
}

void LossHistory::take(std::uint64_t step, double loss) {
  if (!start_) start_ = best_ = Point{step, loss};
  if (loss < best_->loss) best_ = Point{step, loss};
}

std::optional<Warning> LossHistory::add(std::uint64_t step, const Evaluation& evaluation, bool last) {
  std::optional<Warning> warning;
  if (!warned_) warning = look(step, evaluation, last);
  warned_ = warned_ || warning;
  take(step, evaluation.loss);
  return warning;
}

void LossHistory::read(const std::string& metrics, const std::string& place) {
  const std::string key = "eval." + name_;
  for (std::size_t at = 0, end = 0; (end = metrics.find('\n', at)) != metrics.npos; at = end + 1) {
    const auto line = parse_untrusted_json<nlohmann::json>(metrics.substr(at, end - at), place);
    if (!line.is_object() || !line.contains(key) || !line[key].is_number() ||
        !line.value("step", nlohmann::json()).is_number_unsigned())
      continue;
    take(line["step"].get<std::uint64_t>(), line[key].get<double>());
    for (const auto& warning : line.value("warnings", nlohmann::json::array()))
      warned_ = warned_ || (warning.is_object() && warning.value("about", nlohmann::json()) == "divergence");
  }
}

}  // namespace dpmpi
