#include "run/report/weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "run/report/html.hpp"
#include "run/report/numbers.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

constexpr std::size_t most = 15;  // that are shown

/// Of the features, in their order; empty if they have none.
std::vector<std::string> names_of(const RunRecord& run) {
  std::vector<std::string> names;
  for (const Json& name : run.assessment.value("features", Json::array())) names.push_back(shown(name));
  return names.size() == run.weights->cols ? names : std::vector<std::string>();
}

/// The number of the feature, from 1, that weight j is for: one feature may be no input of the model.
std::size_t number_of(const RunRecord& run, std::size_t j) {
  const auto left_out = run.assessment.value("left_out_feature", std::size_t{0});
  return j + 1 + (left_out > 0 && j + 1 >= left_out ? 1 : 0);
}

/// The row whose weight of this feature is the largest.
std::size_t strongest(const Tensor& w, std::size_t feature) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < w.rows; ++k)
    if (std::abs(w.values[k * w.cols + feature]) > std::abs(w.values[best * w.cols + feature])) best = k;
  return best;
}

float weight_of(const Tensor& w, std::size_t feature) { return w.values[strongest(w, feature) * w.cols + feature]; }

std::vector<std::size_t> largest_first(const Tensor& w) {
  std::vector<std::size_t> order(w.cols);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t j) {
    const float weight = std::abs(weight_of(w, j));
    return std::isfinite(weight) ? weight : 0.0F;
  };
  const std::size_t kept = std::min(most, order.size());
  std::ranges::partial_sort(
      order, order.begin() + static_cast<std::ptrdiff_t>(kept),
      [&](std::size_t a, std::size_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
  order.resize(kept);
  return order;
}

std::string bars(const RunRecord& run, const std::vector<std::string>& names) {
  const Tensor& w = *run.weights;
  const std::vector<std::size_t> order = largest_first(w);
  const double largest = std::abs(static_cast<double>(weight_of(w, order.front())));
  std::string out = fmt::format("<table class=\"bar\"><tr><th>feature</th>{}<th>weight</th><th></th></tr>",
                                w.rows > 1 ? "<th>class</th>" : "");
  for (const std::size_t j : order) {
    const double weight = static_cast<double>(weight_of(w, j));
    const double length = largest > 0 && std::isfinite(weight) ? 100 * std::abs(weight) / largest : 0;
    out += fmt::format("\n<tr><td>{}</td>{}<td class=\"n\">{}</td><td><i{} style=\"width:{:.1f}%\"></i></td></tr>",
                       html::escape(names.empty() ? fmt::format("feature {}", number_of(run, j)) : names[j]),
                       w.rows > 1 ? fmt::format("<td class=\"n\">{}</td>", strongest(w, j)) : "", measured(weight),
                       weight < 0 ? " class=\"minus\"" : "", std::min(100.0, length));
  }
  return out + "</table>\n";
}

}  // namespace

std::string weights_section(const RunRecord& run) {
  if (!run.weights || run.weights->values.empty()) return "";
  const Tensor& w = *run.weights;
  const std::vector<std::string> names = names_of(run);
  if (w.rows > 1 && names.empty()) return "";  // pixels and the like: numbers say nothing
  const std::string which =
      w.cols > most ? fmt::format("The {} largest of {} weights", most, w.cols) : std::string("The weights");
  return html::heading("What the model weighs") +
         html::paragraph(fmt::format(
             "{}{}, noise included. A weight counts for each unit of its feature: weights of features of other sizes "
             "do not compare. {}",
             which, w.rows > 1 ? ", each in the class where it is largest" : "",
             names.empty() ? "The training file has no names of features." : "")) +
         bars(run, names);
}

}  // namespace dpmpi
