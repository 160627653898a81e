#include "privacy/events/event.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "privacy/events/members.hpp"
#include "privacy/events/relations.hpp"

namespace dpmpi {
namespace {

// A range, in words and as a test.
template <class T>
struct Allowed {
  std::string_view text;
  bool (*holds)(T);
};
constexpr Allowed<double> positive{"a finite number > 0", [](double x) { return std::isfinite(x) && x > 0; }};
constexpr Allowed<double> not_negative{"a finite number >= 0", [](double x) { return std::isfinite(x) && x >= 0; }};
constexpr Allowed<double> rate{"a number in (0, 1]", [](double x) { return x > 0 && x <= 1; }};
constexpr Allowed<double> below_one{"a number in [0, 1)", [](double x) { return x >= 0 && x < 1; }};
constexpr Allowed<double> inside{"a number in (0, 1)", [](double x) { return x > 0 && x < 1; }};
constexpr Allowed<double> shape{"a finite number > -1", [](double x) { return std::isfinite(x) && x > -1; }};
constexpr Allowed<std::uint64_t> natural{"a whole number from 1 to 2^53",
                                         [](std::uint64_t x) { return x >= 1 && x <= largest_whole; }};
constexpr Allowed<std::uint64_t> group_size{"a whole number from 1 to 1024", [](std::uint64_t x) {
                                              return x >= 1 && x <= PoissonGaussianGroup::most_records;
                                            }};
constexpr Allowed<std::uint64_t> leaf_count{"a whole number from 1 to 2^40",
                                            [](std::uint64_t x) { return x >= 1 && x <= 1ULL << 40; }};
constexpr Allowed<std::uint64_t> whole_or_zero{"a whole number from 0 to 2^53",
                                               [](std::uint64_t x) { return x <= largest_whole; }};
constexpr std::uint64_t most_explicit_leaves = 2048;
constexpr std::size_t most_events_of_run = 4096;

constexpr std::string_view mechanism_names[] = {"gaussian",
                                                "poisson_gaussian",
                                                "poisson_gaussian_group",
                                                "cyclic_poisson_gaussian",
                                                "random_allocation_gaussian",
                                                "wor_gaussian",
                                                "discrete_gaussian",
                                                "poisson_discrete_gaussian",
                                                "wor_discrete_gaussian",
                                                "laplace",
                                                "poisson_laplace",
                                                "tree",
                                                "hidden_state",
                                                "zcdp",
                                                "gdp",
                                                "exponential",
                                                "approx_dp",
                                                "repeat_and_select",
                                                "non_private"};
static_assert(std::size(mechanism_names) == std::variant_size_v<Mechanism>);

constexpr std::string_view strategy_names[] = {"fenwick",  "full", "full_honaker",   "sqrt_toeplitz", "banded",
                                               "explicit", "blt",  "normalized_blt", "banded_blt"};
constexpr std::string_view strategies_allowed =
    "fenwick, full, full_honaker, sqrt_toeplitz, banded, blt, normalized_blt, banded_blt or explicit";
constexpr std::string_view decays_allowed = "up to 8 falling numbers above 0 and up to 1 - 2^-20";
constexpr std::string_view weights_allowed = "as many numbers as decays, each above 0, with a sum below 1";

constexpr std::string_view repetition_names[] = {"truncated_negative_binomial", "poisson"};
constexpr std::string_view repetitions_allowed = "truncated_negative_binomial or poisson";

// The members of a mechanism in the order of the file, described once for reading, checking and writing:
// visit(name, value, allowed), or with a default in place of a missing member.
template <class M, class Visit>
void for_each_member_of_run(M& m, Visit&& visit) {
  visit("steps", m.steps, natural);
  visit("hybrid", m.hybrid, whole_or_zero);
  if (m.hybrid < m.steps) visit("before_multiplier", m.before_multiplier, positive);
  if (m.hybrid > 0) {
    visit("directional_multiplier", m.directional_multiplier, not_negative);
    visit("isotropic_multiplier", m.isotropic_multiplier, positive);
  }
  visit("noise_multiplier", m.noise_multiplier, positive, 1.0);
  visit("diameter", m.diameter, positive);
  visit("drift", m.drift, positive);
  visit("contraction", m.contraction, not_negative);
  visit("retention", m.retention, rate, 1.0);
  visit("error", m.error, not_negative, 0.0);
  visit("directions", m.directions, natural);
  visit("dimension", m.dimension, natural);
  visit("population", m.population, natural);
  visit("batch", m.batch, natural);
  visit("parts", m.parts, natural, std::uint64_t{1});
  visit("reshuffled", m.reshuffled);
  visit("failure", m.failure, below_one, 0.0);
  visit("releases", m.releases);
}

template <class M, class Visit>
void for_each_member(M& m, Visit&& visit) {
  if constexpr (requires { m.hybrid; }) return for_each_member_of_run(m, visit);
  if constexpr (requires { m.population; }) {
    visit("population", m.population, natural);
    visit("batch", m.batch, natural);
  }
  if constexpr (requires { m.groups; }) {
    visit("steps", m.steps, natural);
    visit("groups", m.groups, natural);
    visit("band", m.band, natural);
  }
  if constexpr (requires { m.selected; }) {
    visit("steps", m.steps, natural);
    visit("selected", m.selected, natural, std::uint64_t{1});
  }
  if constexpr (requires { m.sampling_rate; }) visit("sampling_rate", m.sampling_rate, rate);
  if constexpr (requires { m.records; }) visit("records", m.records, group_size);
  if constexpr (requires { m.strategy; }) {
    visit("strategy", m.strategy);
    visit("leaves", m.leaves, leaf_count);
  }
  if constexpr (requires { m.law; }) {
    visit("distribution", m.law.distribution);
    if (m.law.distribution == Repetitions::poisson) {
      visit("mean", m.law.mean, positive);
    } else {
      visit("shape", m.law.shape, shape);
      visit("gamma", m.law.gamma, inside);
    }
    visit("run", m.run);
  }
  if constexpr (requires { m.noise_multiplier; }) visit("noise_multiplier", m.noise_multiplier, positive);
  if constexpr (requires { m.strategy; }) {
    if (is_banded(m.strategy)) visit("band", m.band, natural);
    if (has_buffers(m.strategy)) visit(m.buffers);
    visit("first_leaf", m.first_leaf, positive, 1.0);
    visit("participations", m.participations, natural, std::uint64_t{1});
    if (m.participations > 1) visit("separation", m.separation, natural);
    if (m.strategy == Strategy::explicit_matrix) visit("matrix", m.matrix, m.leaves);
  }
  if constexpr (requires { m.scale; }) visit("scale", m.scale, positive);
  if constexpr (requires { m.rho; }) {
    visit("rho", m.rho, positive);
    visit("total_variation", m.total_variation, below_one, 0.0);
  }
  if constexpr (requires { m.mu; }) visit("mu", m.mu, positive);
  if constexpr (requires { m.epsilon; })
    visit(
        "epsilon", m.epsilon, requires { m.delta; } ? not_negative : positive);
  if constexpr (requires { m.delta; }) visit("delta", m.delta, below_one);
}

// The one Gaussian that a run is, or null if it is more.
template <class Events>
auto* one_gaussian(Events& run) {
  return run.size() == 1 && run[0].count == 1 ? std::get_if<Gaussian>(&run[0].mechanism) : nullptr;
}

Event parse_event(const Members& line, std::string_view where);

struct Reader {
  const Members& line;
  std::string_view where;

  void operator()(const char* member, double& x, Allowed<double> allowed) const {
    x = line.number(member, allowed.text);
  }
  void operator()(const char* member, double& x, Allowed<double> allowed, double absent) const {
    x = line.has(member) ? line.number(member, allowed.text) : absent;
  }
  void operator()(const char* member, std::uint64_t& x, Allowed<std::uint64_t> allowed) const {
    x = line.whole(member, allowed.text, allowed.holds(0) ? 0 : 1);
  }
  void operator()(const char* member, std::uint64_t& x, Allowed<std::uint64_t> allowed,
                  std::uint64_t absent) const {
    x = absent;
    if (line.has(member)) (*this)(member, x, allowed);
  }
  void operator()(const char* member, bool& x) const { x = line.has(member) && line.flag(member); }
  void operator()(const char* member, std::vector<std::uint64_t>& released) const {
    constexpr std::string_view allowed = "a list of whole numbers of steps";
    if (!line.has(member)) return;
    for (const nlohmann::json& step : line.array(member, allowed)) {
      if (!step.is_number_unsigned()) refuse(where, member, Members::shown(step), allowed);
      released.push_back(step.get<std::uint64_t>());
    }
  }
  void operator()(const char* member, Strategy& strategy) const {
    choose(member, strategy, strategy_names, strategies_allowed);
  }
  void operator()(Buffers& buffers) const {
    buffers.count = numbers("decays", decays_allowed, buffers.decay);
    if (numbers("weights", weights_allowed, buffers.weight) != buffers.count)
      refuse(where, "weights", "of another length than decays", weights_allowed);
  }
  std::size_t numbers(const char* member, std::string_view allowed, std::span<double> list) const {
    const nlohmann::json& given = line.array(member, allowed);
    if (given.size() > list.size()) refuse(where, member, fmt::format("{} of them", given.size()), allowed);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!given[i].is_number()) refuse(where, member, Members::shown(given[i]), allowed);
      list[i] = given[i].get<double>();
    }
    return given.size();
  }
  void operator()(const char* member, Repetitions& distribution) const {
    choose(member, distribution, repetition_names, repetitions_allowed);
  }
  void operator()(const char* member, std::vector<Event>& run) const {
    run = {{Gaussian{}, 1}};
    if (!line.has(member)) return for_each_member(*one_gaussian(run), *this);
    if (line.has("noise_multiplier"))
      refuse(where, "noise_multiplier", "given beside run", "either of the two: run says what noise there is");
    run.clear();
    const std::string place = fmt::format("{}: {}", where, member);
    for (const nlohmann::json& event : line.array(member, "a list of events"))
      run.push_back(parse_event(Members(event, place), place));
  }
  template <class Enum>
  void choose(const char* member, Enum& choice, std::span<const std::string_view> names,
              std::string_view allowed) const {
    const std::string text = line.text(member, allowed);
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) refuse(where, member, Members::shown(text), allowed);
    choice = static_cast<Enum>(found - names.begin());
  }
  // Rows of a lower-triangular matrix, each up to its diagonal or padded with zeros.
  void operator()(const char* member, std::vector<double>& triangle, std::uint64_t leaves) const {
    const std::string allowed = fmt::format("{} rows of finite numbers, row i with i of them", leaves);
    const nlohmann::json& rows = line.array(member, allowed);
    if (rows.size() != leaves) refuse(where, member, fmt::format("an array of {} rows", rows.size()), allowed);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto fail = [&] { refuse(where, member, fmt::format("wrong in row {}", i + 1), allowed); };
      if (!rows[i].is_array() || rows[i].size() < i + 1 || rows[i].size() > leaves) fail();
      for (std::size_t j = 0; j < rows[i].size(); ++j) {
        if (!rows[i][j].is_number() || (j > i && rows[i][j].get<double>() != 0)) fail();
        if (j <= i) triangle.push_back(rows[i][j].get<double>());
      }
    }
  }
};

struct Checker {
  std::string_view where;

  void operator()(const char* member, auto x, auto allowed) const {
    if (!allowed.holds(x)) refuse(where, member, fmt::format("{}", x), allowed.text);
  }
  template <class T>
  void operator()(const char* member, T x, Allowed<T> allowed, T) const {
    (*this)(member, x, allowed);
  }
  void operator()(const char*, Strategy) const {}
  void operator()(const Buffers& buffers) const {
    long double sum = 0;
    double limit = std::nextafter(Buffers::largest_decay, 1.0);
    if (buffers.count > Buffers::most)
      refuse(where, "decays", fmt::format("{} of them", buffers.count), decays_allowed);
    for (std::size_t i = 0; i < buffers.count; ++i) {
      const double decay = buffers.decay[i], weight = buffers.weight[i];
      if (!(decay > 0 && decay < limit)) refuse(where, "decays", fmt::format("{}", decay), decays_allowed);
      if (!(weight > 0 && (sum += weight) < 1))
        refuse(where, "weights", fmt::format("{}", weight), weights_allowed);
      limit = decay;
    }
  }
  void operator()(const char*, Repetitions) const {}
  void operator()(const char*, bool) const {}
  void operator()(const char*, const std::vector<std::uint64_t>&) const {}
  void operator()(const char* member, const std::vector<Event>& run) const {
    if (const auto* gaussian = one_gaussian(run)) return for_each_member(*gaussian, *this);
    if (run.empty() || run.size() > most_events_of_run)
      refuse(where, member, fmt::format("a list of {} events", run.size()),
             fmt::format("1 to {} events", most_events_of_run));
    for (const Event& event : run) {
      if (std::holds_alternative<RepeatAndSelect>(event.mechanism))
        refuse(where, member, fmt::format("a list with {}", name(event.mechanism)), "events that select nothing");
      check(event, fmt::format("{}: {}", where, member));
    }
  }
  void operator()(const char* member, const std::vector<double>& triangle, std::uint64_t leaves) const {
    if (leaves > most_explicit_leaves)
      refuse(where, "leaves", fmt::format("{}", leaves), "1 to 2048 for an explicit matrix");
    if (triangle.size() != leaves * (leaves + 1) / 2 ||
        !std::all_of(triangle.begin(), triangle.end(), [](double x) { return std::isfinite(x); }))
      refuse(where, member, "malformed", "a lower triangle of finite numbers");
  }
};

struct Writer {
  std::string& out;

  void operator()(const char* member, auto x, auto) const { out += fmt::format(",\"{}\":{}", member, x); }
  template <class T>
  void operator()(const char* member, T x, Allowed<T> allowed, T absent) const {
    if (x != absent) (*this)(member, x, allowed);
  }
  void operator()(const char* member, bool x) const {
    if (x) out += fmt::format(",\"{}\":true", member);
  }
  void operator()(const char* member, const std::vector<std::uint64_t>& list) const {
    if (!list.empty()) out += fmt::format(",\"{}\":[{}]", member, fmt::join(list, ","));
  }
  void operator()(const char* member, const std::vector<Event>& run) const {
    if (const auto* gaussian = one_gaussian(run)) return for_each_member(*gaussian, *this);
    out += fmt::format(",\"{}\":[", member);
    for (std::size_t i = 0; i < run.size(); ++i) out += (i ? "," : "") + to_json(run[i]);
    out += "]";
  }
  void operator()(const char* member, Strategy strategy) const { choose(member, name(strategy)); }
  void operator()(const Buffers& buffers) const {
    out += fmt::format(",\"decays\":[{}],\"weights\":[{}]",
                       fmt::join(std::span(buffers.decay).first(buffers.count), ","),
                       fmt::join(std::span(buffers.weight).first(buffers.count), ","));
  }
  void operator()(const char* member, Repetitions distribution) const { choose(member, name(distribution)); }
  void choose(const char* member, std::string_view choice) const {
    out += fmt::format(",\"{}\":\"{}\"", member, choice);
  }
  void operator()(const char* member, const std::vector<double>& triangle, std::uint64_t leaves) const {
    out += fmt::format(",\"{}\":[", member);
    for (std::size_t i = 0, begin = 0; i < leaves; begin += ++i)
      out += fmt::format("{}[{}]", i ? "," : "", fmt::join(std::span(triangle).subspan(begin, i + 1), ","));
    out += "]";
  }
};

Mechanism mechanism_called(std::string_view kind, std::string_view where) {
  static const auto prototypes = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::vector<Mechanism>{std::variant_alternative_t<i, Mechanism>{}...};
  }
  (std::make_index_sequence<std::variant_size_v<Mechanism>>{});
  for (const Mechanism& prototype : prototypes)
    if (name(prototype) == kind) return prototype;
  refuse(where, "event", Members::shown(kind),
         fmt::format("{} (others are unknown to this version)", fmt::join(mechanism_names, ", ")));
}

// How often: "count"; a tree's "restarts" is the same thing, and may stand alone or be absent (one run).
std::uint64_t uses(const Members& line, const Mechanism& mechanism, std::string_view where) {
  const bool tree = std::holds_alternative<Tree>(mechanism);
  const bool one_is_understood = tree || std::holds_alternative<NonPrivate>(mechanism);
  const std::uint64_t count = one_is_understood && !line.has("count") ? 1 : line.whole("count", natural.text);
  const std::uint64_t restarts = tree && line.has("restarts") ? line.whole("restarts", natural.text) : 1;
  if (count > largest_whole / restarts)
    refuse(where, "restarts", fmt::format("{}", restarts), "restarts times count up to 2^53");
  return count * restarts;
}

/// Members that are not known are ignored, but these would weaken the promise.
void refuse_members_of_others(const Members& line, const Mechanism& mechanism, std::string_view where) {
  const auto only_in = [&](const char* member, bool its_own, const char* owners) {
    if (line.has(member) && !its_own)
      refuse(where, member, fmt::format("a member of {}", name(mechanism)), fmt::format("in {} only", owners));
  };
  const auto* const tree = std::get_if<Tree>(&mechanism);
  only_in("total_variation", std::holds_alternative<Zcdp>(mechanism), "zcdp events");
  only_in("records", std::holds_alternative<PoissonGaussianGroup>(mechanism), "poisson_gaussian_group events");
  only_in("first_leaf", tree != nullptr, "tree events");
  only_in("participations", tree != nullptr, "tree events");
  only_in("separation", tree != nullptr && tree->participations > 1, "tree events with several participations");
}

Event parse_event(const Members& line, std::string_view where) {
  Event event;
  event.mechanism = mechanism_called(line.text("event", "the name of an event"), where);
  std::visit([&](auto& m) { for_each_member(m, Reader{line, where}); }, event.mechanism);
  refuse_members_of_others(line, event.mechanism, where);
  event.count = uses(line, event.mechanism, where);
  check(event, where);
  return event;
}

EventHeader parse_header(const Members& members, std::string_view where) {
  if (const auto version = members.whole("ledger", natural.text); version != 1)
    refuse(where, "ledger", fmt::format("{}", version), "1 (the version that this program reads)");
  constexpr std::string_view allowed = "add_remove or replace_one";
  const std::string text = members.text("adjacency", allowed);
  EventHeader header;
  if (const auto adjacency = parse_adjacency(text))
    header.adjacency = *adjacency;
  else
    refuse(where, "adjacency", Members::shown(text), allowed);
  if (members.has("n")) header.n = members.whole("n", natural.text);
  header.seeded = members.has("seeded") && members.flag("seeded");
  if (members.has("unit")) {
    constexpr std::string_view units = "person or record";
    const std::string unit = members.text("unit", units);
    if (unit != name(Unit::person) && unit != name(Unit::record))
      refuse(where, "unit", Members::shown(unit), units);
    header.unit = unit == name(Unit::person) ? Unit::person : Unit::record;
  }
  return header;
}

}  // namespace

// Written out, because clang 14 cannot derive the order of a type that holds itself.
std::partial_ordering RepeatAndSelect::operator<=>(const RepeatAndSelect& other) const {
  if (const std::partial_ordering laws = law <=> other.law; laws != 0) return laws;
  const auto in_order = [](const Event& a, const Event& b) -> std::partial_ordering { return a <=> b; };
  return std::lexicographical_compare_three_way(run.begin(), run.end(), other.run.begin(), other.run.end(),
                                                in_order);
}

bool RepeatAndSelect::operator==(const RepeatAndSelect& other) const {
  return law == other.law && std::equal(run.begin(), run.end(), other.run.begin(), other.run.end());
}

std::string_view name(Strategy strategy) { return strategy_names[static_cast<std::size_t>(strategy)]; }
std::string_view name(Repetitions distribution) { return repetition_names[static_cast<std::size_t>(distribution)]; }
std::string_view name(const Mechanism& mechanism) { return mechanism_names[mechanism.index()]; }

void check(const Event& event, std::string_view where) {
  std::visit(
      [&](const auto& m) {
        for_each_member(m, Checker{where});
        if constexpr (
            requires { m.hybrid; } || requires { m.strategy; } || requires { m.groups; } ||
            requires { m.selected; })
          check_relations(m, where);
        else if constexpr (requires { m.population; })
          if (m.batch > m.population)
            refuse(where, "batch", fmt::format("{}", m.batch),
                   fmt::format("a whole number from 1 to the population, {}", m.population));
      },
      event.mechanism);
  if (!natural.holds(event.count)) refuse(where, "count", fmt::format("{}", event.count), natural.text);
}

std::string to_json(const Event& event, std::string_view extra) {
  std::string text = fmt::format("{{\"event\":\"{}\"", name(event.mechanism));
  std::visit([&](const auto& m) { for_each_member(m, Writer{text}); }, event.mechanism);
  text +=
      fmt::format(",\"{}\":{}", std::holds_alternative<Tree>(event.mechanism) ? "restarts" : "count", event.count);
  return text + (extra.empty() ? "" : ",") + std::string(extra) + "}";
}

EventLine parse_event_line(std::string_view line, std::string_view where,
                           const std::function<void(const std::string&)>& open) {
  Members members(line, where);
  if (open) members.close_open(open);
  EventLine result;
  if (members.has("ledger"))
    result.content = parse_header(members, where);
  else
    result.content = parse_event(members, where);
  if (members.has("prev")) result.prev = members.text("prev", "the SHA-256 of the line above");
  return result;
}

}  // namespace dpmpi
