#include "run/config/hints.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/options.hpp"
#include "method/method.hpp"
#include "objective/objective.hpp"

namespace dpmpi {
namespace {

/// Words of other programs, and what they are here: the first that the config can have.
struct Synonyms {
  std::vector<std::string_view> words;
  std::vector<std::string_view> keys;
};

const std::vector<Synonyms>& synonyms() {
  static const std::vector<Synonyms> all = {
      {{"learning_rate", "lr", "eta", "step_size", "stepsize"}, {"method.rate", "method.eta", "method.step"}},
      {{"max_grad_norm", "l2_norm_clip", "clip_norm", "clipping", "clipping_norm", "max_norm"}, {"method.clip"}},
      {{"weight_decay", "l2_reg", "lambda", "regularization", "alpha"}, {"objective.l2"}},
      {{"epochs", "num_epochs", "passes"}, {"method.epochs", "method.passes", "method.steps"}},
      {{"steps", "iterations", "iters", "max_iter", "rounds", "T"},
       {"method.steps", "method.epochs", "method.passes"}},
      {{"batch_size", "batchsize", "expected_batch_size", "minibatch"}, {"method.batch"}},
      {{"noise", "sigma", "noise_scale"}, {"privacy.noise_multiplier"}},
      {{"target", "target_epsilon", "eps", "budget"}, {"privacy.epsilon"}},
      {{"target_delta"}, {"privacy.delta"}},
      {{"path", "file", "csv", "dataset", "train_data", "training"}, {"data.train"}},
      {{"test", "validation", "valid", "holdout"}, {"data.eval"}},
      {{"target", "target_column", "label_column", "labels", "y"}, {"data.label"}},
      {{"loss", "model"}, {"objective.name"}},
      {{"num_classes", "n_classes", "nclasses"}, {"objective.classes"}},
      {{"algorithm", "optimizer", "optimiser"}, {"method.name"}},
      {{"layers", "hidden_layers", "hidden_sizes", "units"}, {"objective.hidden"}},
      {{"start", "pretrained", "pretrained_model", "init", "init_from", "warm_start"}, {"objective.start_model"}},
      {{"freeze", "frozen", "trainable", "train"}, {"objective.train_layers"}},
      {{"output", "output_dir", "out"}, {"run.dir"}}};
  return all;
}

bool is_among(const std::vector<std::string>& known, std::string_view key) {
  return std::ranges::find(known, key) != known.end();
}

/// A letter stands for too much in too many places to be a word of another section.
std::string by_synonym(std::string_view section, std::string_view word, const std::vector<std::string>& known) {
  std::string found;
  for (const auto& [words, keys] : synonyms()) {
    if (std::ranges::find(words, word) == words.end()) continue;
    const auto key = std::ranges::find_if(keys, [&](std::string_view each) { return is_among(known, each); });
    if (key == keys.end()) continue;
    if (key->starts_with(section)) return std::string(*key);  // of two meanings, the one of this section
    if (found.empty() && word.size() > 1) found = *key;
  }
  return found;
}

/// The same word in other sections, if it does not stand in too many. What only searches and audits have is rarely
/// meant.
std::vector<std::string> by_section(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t most = 2;
  std::vector<std::string> found;
  std::ranges::copy_if(known, std::back_inserter(found), [&](std::string_view key) {
    return key.substr(key.find('.') + 1) == word && !key.starts_with("tune.") && !key.starts_with("audit.");
  });
  return found.size() <= most ? found : std::vector<std::string>();
}

/// A near word of the same section, or the same word in a section of a near name.
std::string nearest_key(const std::string& key, const std::vector<std::string>& known) {
  const auto dot = std::min(key.find('.'), key.size());
  const std::string section = key.substr(0, dot + 1), word = key.substr(std::min(dot + 1, key.size()));
  std::vector<std::string> sections, words;
  for (const std::string& candidate : known) {
    sections.push_back(candidate.substr(0, candidate.find('.') + 1));
    if (sections.back() == section) words.push_back(candidate.substr(section.size()));
  }
  if (const std::string nearest = nearest_name(word, words); !nearest.empty()) return section + nearest;
  const std::string meant = nearest_name(section, sections) + word;
  return is_among(known, meant) ? meant : "";
}

template <class Entries, class Make>
std::vector<std::string> which_have(const std::string& key, const char* section, const Entries& entries,
                                    Make&& make) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    Options options(section);
    const auto made = make(entry);
    made->declare(options);
    if (std::ranges::any_of(options.declarations(), [&](const auto& each) { return each.name == key; }))
      names.push_back(entry.name);
  }
  return names;
}

/// The methods or objectives that have this key.
std::vector<std::string> owners(const std::string& key) {
  if (key.starts_with("method."))
    return which_have(key, "method", methods(), [](const MethodEntry& entry) { return entry.make(); });
  if (key.starts_with("objective."))
    return which_have(key, "objective", objectives(), [](const ObjectiveEntry& entry) { return entry.builder(); });
  return {};
}

/// What tells all keys of a section, or all sections.
std::string list_of(std::string_view section, const std::vector<std::string>& known, const std::string& method,
                    const std::string& objective) {
  std::vector<std::string_view> sections;
  for (const std::string& each : known)
    if (const auto its = std::string_view(each).substr(0, each.find('.') + 1);
        std::ranges::find(sections, its) == sections.end())
      sections.push_back(its);
  if (std::ranges::find(sections, section) == sections.end()) {
    for (auto& each : sections) each.remove_suffix(1);
    return fmt::format("sections are {}", fmt::join(sections, ", "));
  }
  const std::string_view name = section.substr(0, section.size() - 1);
  return fmt::format("dpmpi help {} lists what there is", name == "method"      ? method
                                                          : name == "objective" ? objective
                                                                                : std::string(name));
}

}  // namespace

std::string hint_for(const std::string& key, const std::vector<std::string>& known, const std::string& method,
                     const std::string& objective) {
  const auto dot = key.find('.');
  const std::string_view section = std::string_view(key).substr(0, dot + 1);
  const std::string_view word = dot == key.npos ? std::string_view(key) : std::string_view(key).substr(dot + 1);
  const std::vector<std::string> having = owners(key);
  std::vector<std::string> meant = by_section(word, known);
  const auto add = [&](const std::string& other) {
    if (!other.empty() && !is_among(meant, other)) meant.push_back(other);
  };
  add(by_synonym(section, word, known));
  if (meant.empty() && having.empty()) add(nearest_key(key, known));
  std::vector<std::string> hints;
  if (!meant.empty()) hints.push_back(fmt::format("did you mean {}?", fmt::join(meant, " or ")));
  if (!having.empty()) hints.push_back(fmt::format("it is an option of {}", fmt::join(having, ", ")));
  if (key == "method.clip_quantile" && is_among(known, "method.dual_rate"))
    hints.emplace_back(
        "a step of a min-max method clips both sides, or differences, and a count of the records within one clip is not "
        "charged for there");
  return hints.empty() ? list_of(section, known, method, objective) : fmt::format("{}", fmt::join(hints, "; "));
}

}  // namespace dpmpi
