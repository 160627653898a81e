#include "data/formats/hdf5.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/hdf5_fields.hpp"
#include "data/formats/hdf5_rows.hpp"
#include "data/formats/table.hpp"
#include "data/records/person_tag.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

using Fields = std::vector<Hdf5Field>;

/// For messages: what a field holds for a record. How many records there are is not said.
std::string described(const Hdf5Field& field) {
  constexpr const char* names[] = {"uint8", "int8", "int16", "int32", "int64", "uint64", "float32", "float64"};
  if (!field.trouble.empty()) return fmt::format("{} ({})", field.name, field.trouble);
  const char* const element = names[static_cast<std::size_t>(field.element)];
  if (field.is_scale) return fmt::format("{} (a dimension)", field.name);
  if (!field.has_rows()) return fmt::format("{} ({})", field.name, element);
  return fmt::format("{} (rows of {} {})", field.name, fmt::join(std::span(field.shape).subspan(1), " x "),
                     element);
}

/// The fields that the config means, in those that a file has.
class FieldChoice {
 public:
  FieldChoice(const Fields& all, const ReadingRules& rules, const std::string& path)
      : all_(all), rules_(rules), path_(path) {}

  std::optional<Hdf5Field> label() const {
    if (rules_.label == no_label) return {};
    if (rules_.label != "auto") return usable(find(rules_.label, "data.label"), "data.label");
    Fields found;
    for (const Hdf5Field& field : all_)
      if (const std::string name = field.last_name(); names_label(name) || name == "labels" || name == "targets")
        found.push_back(field);
    if (found.size() != 1)
      refuse(fmt::format("data.label must be set to the name of a dataset: {} is called label, target, class or y",
                         found.empty() ? "none" : "more than one"));
    return usable(found[0], "data.label");
  }

  /// Whose records are; nothing where that is not asked.
  std::optional<Hdf5Field> person() const {
    if (rules_.persons == ReadingRules::Persons::nothing) return {};
    const Hdf5Field& field = find(rules_.person, "data.person");
    const std::string trouble = field.packed() ? "packed numbers" : field.trouble_of_column();
    if (!trouble.empty())
      refuse(fmt::format("data.person: dataset {} holds {}, where one text or number a record is expected",
                         field.name, trouble));
    return field;
  }

  Fields features(const std::optional<Hdf5Field>& label) const {
    if (rules_.persons == ReadingRules::Persons::alone) return {};
    Fields chosen;
    for (const std::string& name : rules_.datasets)
      chosen.push_back(usable(find(name, "data.datasets"), "data.datasets"));
    for (const Hdf5Field& field : chosen)
      if (label && field.name == label->name)
        refuse(fmt::format("data.datasets: {} holds the labels (data.label)", field.name));
    for (const Hdf5Field& field : chosen)
      if (is_person(field))
        refuse(fmt::format("data.datasets: {} says whose records are (data.person)", field.name));
    return chosen.empty() ? features_left(label) : chosen;
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    constexpr std::size_t most = 30;
    std::vector<std::string> names;
    for (const Hdf5Field& field : all_)
      if (names.size() < most) names.push_back(described(field));
    throw ConfigError(fmt::format("{}: {}. The file has {}{}", path_, problem,
                                  names.empty() ? "no datasets" : fmt::format("{}", fmt::join(names, ", ")),
                                  all_.size() > most ? fmt::format(", and {} more", all_.size() - most) : ""));
  }

  /// The field of this name, with its groups or without them.
  const Hdf5Field& find(const std::string& wanted, const std::string& key) const {
    const std::string name = wanted.starts_with('/') ? wanted.substr(1) : wanted;
    const Hdf5Field* found = nullptr;
    for (const Hdf5Field& field : all_) {
      if (field.name == name) return field;
      if (field.last_name() != name) continue;
      if (found != nullptr)
        refuse(fmt::format("{} = {}: {} and {} have this name, give all of one", key, wanted, found->name,
                           field.name));
      found = &field;
    }
    if (found == nullptr) refuse(fmt::format("{} = {}: there is no such dataset", key, wanted));
    return *found;
  }

  /// Files whose persons are not asked for may have them all the same: they are no features.
  bool is_person(const Hdf5Field& field) const {
    const std::string name = rules_.person.starts_with('/') ? rules_.person.substr(1) : rules_.person;
    return !name.empty() && (field.name == name || field.last_name() == name);
  }

  const Hdf5Field& usable(const Hdf5Field& field, const std::string& key) const {
    if (!field.trouble.empty())
      refuse(fmt::format("{}: dataset {} holds {}, where numbers are expected", key, field.name, field.trouble));
    return field;
  }

  /// What is neither label nor dropped: the only dataset with rows, or else all with one number for each record.
  Fields features_left(const std::optional<Hdf5Field>& label) const {
    std::vector<std::string> taken;
    if (label) taken.push_back(label->name);
    for (const std::string& name : rules_.drop) taken.push_back(find(name, "data.drop").name);
    Fields with_rows, columns;
    for (const Hdf5Field& field : all_) {
      if (field.is_scale || is_person(field) || std::ranges::find(taken, field.name) != taken.end()) continue;
      if (field.is_lost) usable(field, "data.drop leaves datasets out");
      if (field.shape.size() == 1) columns.push_back(field);
      if (field.has_rows() && field.trouble.empty()) with_rows.push_back(field);
    }
    if (with_rows.size() > 1)
      refuse("data.datasets must say which dataset holds the features: more than one has rows");
    if (!with_rows.empty()) return with_rows;
    for (const Hdf5Field& field : columns) usable(field, "data.drop leaves datasets out");
    if (columns.empty()) refuse("data.datasets must say which dataset holds the features: none is left for them");
    return columns;
  }

  const Fields& all_;
  const ReadingRules& rules_;
  const std::string& path_;
};

void check_lengths(const Fields& chosen, const std::string& path) {
  for (const Hdf5Field& field : chosen)
    if (field.shape[0] != chosen[0].shape[0])
      refuse_file(path, fmt::format("dataset {} holds {} records where {} holds {}", field.name,
                                    show_field(field.shape[0]), chosen[0].name, show_field(chosen[0].shape[0])));
}

/// Of fields with one number each; none if others are among them.
std::string names_by_line(const Fields& features) {
  std::string names;
  for (const Hdf5Field& field : features) {
    if (field.has_rows()) return {};
    names += field.last_name() + "\n";
  }
  return names;
}

/// The features, all as the element of `rows`, and behind them whose they are.
Fields side_by_side(Fields features, const ArrayHeader& rows, const std::optional<Hdf5Field>& person) {
  for (Hdf5Field& field : features) field.element = rows.element;
  if (person) features.push_back(*person);
  return features;
}

bool alike(const ArrayHeader& a, const ArrayHeader& b) { return a.element == b.element && a.width == b.width; }

}  // namespace

Layout Hdf5::inspect(const std::vector<Head>& files) {
  const Head& head = files[0];
  if (head.gzip)
    refuse_file(head.path,
                "is gzipped, and HDF5 is read by byte ranges: decompress it (h5repack -f GZIP=1 packs inside)");
  const Fields all = hdf5_fields(head.path);
  const FieldChoice choice(all, options_, head.path);
  const std::optional<Hdf5Field> label = choice.label();
  const std::optional<Hdf5Field> person = choice.person();
  const Fields features = choice.features(label);
  Fields chosen = features;
  for (const auto& field : {label, person})
    if (field) chosen.push_back(*field);
  check_lengths(chosen, head.path);
  rows_ = array_of(features, head.path);
  if (person) {
    rows_.rows = array_of({*person}, head.path).rows;
    person_ = person->name;
    person_cell_ = person->cell();
  }
  Layout layout{
      .storage = rows_.element == Element::u8 && !features.empty() ? Storage::dense_u8 : Storage::dense_f32,
      .features = rows_.width,
      .feature_names = names_by_line(features)};
  for (const Hdf5Field& field : features) features_.push_back(field.name);
  if (label) {
    label_ = label->name;
    labels_ = array_of({*label}, head.path);
    if (labels_.width != 1)
      refuse_file(head.path, fmt::format("dataset {} holds rows of {} numbers where one label a record is expected",
                                         label_, labels_.width));
    layout.sections.push_back(labels_.section(0, true));
    rows_.offset = labels_.end();
  }
  layout.columns = fmt::format("{}: {}", label_, fmt::join(features_, ", "));
  Section& rows = layout.sections.emplace_back(rows_.section(0, false));
  if (person) rows.row_bytes += person_cell_.bytes();
  return layout;
}

std::unique_ptr<InputFile> Hdf5::content(std::unique_ptr<InputFile> file) const {
  const std::string& path = file->path();
  std::unordered_map<std::string, Hdf5Field> all;
  for (Hdf5Field& field : hdf5_fields(path)) all.emplace(field.name, std::move(field));
  const auto differ = [&] {
    throw DataError(fmt::format("{} is not the same file on all ranks: its datasets differ", path));
  };
  const auto called = [&](const std::string& name) {
    const auto at = all.find(name);
    if (at == all.end()) differ();
    return at->second;
  };
  std::vector<Fields> arrays;
  if (!label_.empty()) arrays.push_back({called(label_)});
  Fields features;
  for (const std::string& name : features_) features.push_back(called(name));
  std::optional<Hdf5Field> person;
  if (!person_.empty()) person = called(person_);
  if (!alike(array_of(features, path), rows_) || (person && person->cell() != person_cell_) ||
      (!label_.empty() && !alike(array_of(arrays.front(), path), labels_)))
    differ();
  arrays.push_back(side_by_side(std::move(features), rows_, person));
  return std::make_unique<InputFile>(path, hdf5_rows(path, arrays));
}

void Hdf5::read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const {
  piece.position.shows_byte = false;  // bytes of what the library gives are nowhere in the file
  Arrays::read(piece, map, labels, out);
}

void Hdf5::read_behind(const char* row, RecordsBuilder& out) const {
  if (person_.empty()) return;
  std::string scratch;  // of digits, which need no other memory
  const std::string_view person = person_cell_.text(row, scratch);
  if (names_nobody(person))
    throw Malformed(fmt::format("dataset {}: missing value {}: every record needs the person whose it is",
                                show(person_), show_field(person)),
                    Malformed::kinds);
  out.set_person(person_tag(person));
}

void Hdf5::archive(Archive& archive) {
  Arrays::archive(archive);
  archive.field("label", label_);
  std::uint64_t count = features_.size();
  archive.field("features", count);
  features_.resize(count);
  for (std::string& name : features_) archive.field("feature", name);
  archive.field("person", person_);
  person_cell_.archive(archive);
}

std::size_t Hdf5::feature_of(const std::string& name, std::size_t features) const {
  const auto is_called = [&](const std::string& full) { return full == name || full.ends_with("/" + name); };
  const auto itself = std::ranges::find(features_, name);
  const auto found = itself != features_.end() ? itself : std::ranges::find_if(features_, is_called);
  if (features_.size() != features || found == features_.end()) return feature_number(name, features);
  if (itself == features_.end() && std::ranges::count_if(features_, is_called) > 1)
    throw ConfigError(
        fmt::format("data.mean or data.std: more than one dataset is called {}: give its groups, too", show(name)));
  return static_cast<std::size_t>(found - features_.begin());
}

}  // namespace dpmpi
