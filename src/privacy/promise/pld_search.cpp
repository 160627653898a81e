#include "privacy/promise/pld_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {

constexpr std::size_t most_points = 1u << 17;  // of a grid that a search computes on
// Where grids are costly: an answer this close to the target is close enough; for a closer one no more is asked
// after answers on so many points (two on the largest grids). Corrections aim below the target by a share of what
// they correct, and by more after every answer above it.
constexpr double close_enough = 0.97;
constexpr std::size_t patience = (1u << 21) + (1u << 19);
constexpr double near_enough = 0.1;      // what is foretold there holds here, in logarithms of the unknown
constexpr double foretold_within = 0.1;  // what is foretold is mostly that close to the answer
constexpr double below_the_line = 5e-3;
constexpr double least_margin = 1e-4, largest_margin = 2.5e-3, margin_share = 0.25, margin_growth = 5;

// The accountant's bound over `finest`, that of these grids, as foretold by it and two coarser ones: errors shrink
// by a factor from each to the next, which lies between the one seen last and the 1/4 that it tends to.
double foretold(const PldAccountant& accountant, double finest, PldAccountant::Grids grids, double delta) {
  const auto coarser = [&] {
    const std::size_t largest = std::max(grids.forward, grids.backward);
    for (std::size_t* points : {&grids.forward, &grids.backward})
      if (*points == largest) *points /= 2;
    return accountant.epsilon_on(grids, delta);
  };
  const double finer = coarser(), coarse = coarser();
  const double seen = (finer - finest) / (coarse - finer);
  if (!(std::isfinite(seen) && seen > 0 && seen < 1)) return 1;
  const double factor = std::sqrt(seen / 4);
  const double three_more = factor * (1 + factor * (1 + factor));  // 2^20 points
  return std::max(0.5, 1 - (finer - finest) * three_more / finest);
}

}  // namespace

// Two answers give a slope; what is foretold does not.
void PldSearch::Correction::learn(double log_x, double log_ratio, Source source) {
  log_ratio = std::isfinite(log_ratio) ? log_ratio : 0;
  const double off = std::abs(log_ratio - log_at(log_x)), far = std::abs(log_x - x);
  if (answers > 0 && far > 1e-3 && far < 1) slope = (log_ratio - value) / (log_x - x);
  x = log_x, value = log_ratio;
  answers += source != Source::foretold;
  above = source == Source::above ? above + 1 : 0;
  margin = std::clamp(margin_share * off, least_margin, largest_margin) * std::pow(margin_growth, above);
}

bool PldSearch::promising(double x) {
  const double known = epsilon(x);
  return known <= problem_.target.epsilon * (costly_ ? 1 + foretold_within : 1);
}

// What is known of epsilon at x; infinity where the accountant has no bound for the events.
double PldSearch::epsilon(double x) {
  const double known = uncorrected(x);
  return costly_ ? known * correction_.factor(std::log(x)) : known;
}

double PldSearch::uncorrected(double x) {
  auto known = known_.find(x);
  if (known == known_.end()) known = known_.emplace(x, compute(x)).first;
  return known->second;
}

std::shared_ptr<const PldAccountant> PldSearch::answered(double x) const {
  const auto found = answered_.find(x);
  return found == answered_.end() ? nullptr : found->second;
}

std::optional<double> PldSearch::tightest(std::optional<double> near) {
  constexpr int most_rounds = 8;
  near = closer(near);
  if (near) epsilon(*near);
  bool found = false;
  for (int round = 0; round < most_rounds && !found; ++round) {
    const auto x = costly_ && kept_ && above_
                       ? between_answers()
                       : problem_.solve([this](double y) { return epsilon(y); }, near, resolution());
    if (!x) return tightest_;
    found = confirmed(*x);
    near = x;
  }
  if (!found && !kept_) by_answers(near);
  return tightest_;
}

// Empty where the accountant refuses the events.
PldSearch::Composed PldSearch::composed(double x) const {
  const auto accountant = std::make_shared<PldAccountant>(problem_.target.adjacency);
  try {
    accountant->compose(problem_.events(x));
  } catch (const PrivacyError&) {
    return nullptr;
  }
  return accountant;
}

// The accountant's own answer. Every one is compared with the target here, and no other value is ever returned.
double PldSearch::ask(const Composed& accountant, double x) {
  answered_[x] = accountant;
  const double answer = accountant->epsilon(problem_.target.delta);
  if (answer <= problem_.target.epsilon && (!tightest_ || problem_.tighter(x, *tightest_))) tightest_ = x;
  return answer;
}

double PldSearch::compute(double x) {
  const Composed accountant = composed(x);
  if (!accountant) return infinity;
  const double delta = problem_.target.delta;
  if (grids_.points() > 0) return accountant->epsilon_on(grids_, delta);
  const PldAccountant::Reach reach = accountant->grids_within(most_points, delta);
  grids_ = reach.grids, costly_ = !reach.settled, correction_ = {};
  if (!costly_) return ask(accountant, x);
  const double bound = accountant->epsilon_on(grids_, delta);
  foretell(*accountant, x, bound);
  return bound;
}

void PldSearch::foretell(const PldAccountant& accountant, double x, double bound) {
  const double part = foretold(accountant, bound, grids_, problem_.target.delta);
  correction_.learn(std::log(x), std::log(part), Source::foretold);
}

// A value to begin with in place of `near`, found on small grids: far from the target the accountant may need much
// finer grids than near it, or tell nothing. Forgets the grids at `near`.
std::optional<double> PldSearch::closer(std::optional<double> near) {
  grids_ = {}, costly_ = false, known_.clear();
  const auto rough = [this](double x) {
    const Composed accountant = composed(x);
    return accountant ? accountant->rough_epsilon(problem_.target.delta) : infinity;
  };
  const auto x = problem_.solve(rough, near, Search::rough);
  return x ? x : near;
}

// Whether the search may end: the accountant's answer at x ends on the grid that was used, and keeps the target; or
// the grids are costly, and an answer is below the target and not far below. If not, what is computed from now on
// is by the grids there, or what they say corrected by the accountant's answers.
bool PldSearch::confirmed(double x) {
  if (costly_) return confirmed_costly(x);
  const auto used = std::exchange(grids_, {});
  known_.clear();
  return epsilon(x) <= problem_.target.epsilon && !costly_ && grids_ == used;
}

bool PldSearch::confirmed_costly(double x) {
  const double target = problem_.target.epsilon, delta = problem_.target.delta;
  const Composed accountant = composed(x);
  if (!accountant) return false;
  if (correction_.answers == 0 && std::abs(std::log(x) - correction_.x) > near_enough) {  // cheaper than an answer
    foretell(*accountant, x, uncorrected(x));
    return false;
  }
  const double answer = ask(accountant, x);
  narrow({x, answer});
  const PldAccountant::Grids ended = accountant->grids(delta);
  if (std::max(ended.forward, ended.backward) <= most_points) {  // not as costly here
    grids_ = ended, costly_ = false, known_ = {{x, answer}};
    return false;
  }
  asked_ += ended.points();
  if (kept_ && (kept_->epsilon >= close_enough * target || asked_ >= patience)) return true;
  if (known_.count(x) > 0)
    correction_.learn(std::log(x), std::log(answer / known_.at(x)), answer > target ? Source::above : Source::kept);
  return false;
}

void PldSearch::narrow(Answer answer) {
  if (answer.epsilon > problem_.target.epsilon)
    above_ = answer;
  else if (!kept_ || answer.epsilon >= kept_->epsilon)
    kept_ = answer;
}

// A little below the target on the line through an answer that keeps it and one that does not, in logarithms: the
// accountant's bound has fewer steps than that of smaller grids. Half way where there is no such line; empty if no
// value lies between.
std::optional<double> PldSearch::between_answers() const {
  const double rise = std::log(problem_.target.epsilon / kept_->epsilon) - below_the_line;
  double share = rise / std::log(above_->epsilon / kept_->epsilon);
  if (!(share > 0 && share < 1)) share = 0.5;
  const double x = on_grid(problem_.unknown, kept_->x * std::pow(above_->x / kept_->x, share));
  const bool between = problem_.tighter(x, kept_->x) && problem_.tighter(above_->x, x);
  return between ? std::optional(x) : std::nullopt;
}

// By the accountant's answers alone, where no grids serve.
void PldSearch::by_answers(std::optional<double> near) {
  const double resolution = costly_ ? Search::rough : Search::fine;
  std::map<double, double> answers;
  const auto answer = [&](double x) {
    const auto known = answers.find(x);
    if (known != answers.end()) return known->second;
    const Composed accountant = composed(x);
    return answers[x] = accountant ? ask(accountant, x) : infinity;
  };
  problem_.solve(answer, near, resolution);
}

}  // namespace dpmpi
