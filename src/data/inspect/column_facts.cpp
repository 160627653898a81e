#include "data/inspect/column_facts.hpp"

#include <algorithm>
#include <cmath>

#include "core/trim.hpp"
#include "data/columns/day.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// The most usual ways to write a date, of which the first that fits all values is taken.
const char* const usual_date_formats[] = {"%Y-%m-%d",          "%d.%m.%Y",          "%d/%m/%Y",
                                          "%m/%d/%Y",          "%Y/%m/%d",          "%d-%m-%Y",
                                          "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                          "%d.%m.%Y %H:%M",    "%d/%m/%Y %H:%M",    "%m/%d/%Y %H:%M"};

}  // namespace

ColumnFacts::ColumnFacts(bool is_label)
    : is_label_(is_label), formats_(std::begin(usual_date_formats), std::end(usual_date_formats)) {}

void ColumnFacts::add(std::string_view field, bool decimal_comma) {
  if (is_label_) field = trim(field);
  const bool has_line_end = field.find_first_of("\r\n") != field.npos;
  line_ends_ = line_ends_ || has_line_end;
  if (!has_line_end && (is_label_ ? is_missing(field) : is_usual_gap(field))) {
    if (std::ranges::find(missing_words_, field) == missing_words_.end()) missing_words_.emplace_back(field);
    return;
  }
  ++values_;
  double x = 0;
  if (to_number(field, decimal_comma, x)) numbers_.push_back(x);
  std::erase_if(formats_, [&](const std::string& format) { return !DatePattern(format).days(field); });
  if (const auto found = words_.find(field); found != words_.end())
    ++found->second;
  else if (words_.size() < most_words)
    words_.emplace(field, 1);
}

std::string ColumnFacts::date_format() const { return values_ == 0 || formats_.empty() ? "" : formats_.front(); }

double ColumnFacts::middle_day() const {
  const DatePattern pattern(date_format());
  std::vector<std::pair<double, std::size_t>> days;
  std::size_t count = 0;
  for (const auto& [word, times] : words_) days.emplace_back(*pattern.days(word), times), count += times;
  std::ranges::sort(days);
  auto day = days.begin();
  for (std::size_t before = day->second; 2 * before < count; before += day->second) ++day;
  return day->first;
}

double ColumnFacts::share_of_words(std::size_t most) const {
  const auto all = words();
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) count += all[i].second;
  return static_cast<double>(count) / static_cast<double>(values_);
}

std::vector<std::pair<std::string, std::size_t>> ColumnFacts::words() const {
  std::vector<std::pair<std::string, std::size_t>> all(words_.begin(), words_.end());
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

double ColumnFacts::quantile(double share) const {
  const double place = share * static_cast<double>(numbers_.size() - 1);
  const auto at = numbers_.begin() + static_cast<std::ptrdiff_t>(std::floor(place));
  std::nth_element(numbers_.begin(), at, numbers_.end());
  return *at;
}

}  // namespace dpmpi
