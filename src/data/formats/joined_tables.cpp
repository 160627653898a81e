#include "data/formats/joined_tables.hpp"

#include <utility>

#include <fmt/format.h>

#include "data/formats/table.hpp"

namespace dpmpi {
namespace {

/// Files that are compared with the first of them while they are opened.
class Joining {
 public:
  Joining(const std::string& name, const ReadingRules& rules) : name_(name), rules_(rules) {}

  void add(const std::string& path) {
    auto file = std::make_unique<InputFile>(path);
    for (const FilePart& other : parts_)
      if (file->same_as(*other.file))
        refuse_file(path,
                    fmt::format("is the same file as {}: its records would be read twice", other.file->path()));
    Head head = read_head(*file, rules_);
    check_format(head);
    const char otherwise = format_ == "tsv" ? '\t' : ',';
    TableHead table = look_at_table(head, rules_, delimiter_by(rules_.separator, otherwise));
    if (parts_.empty()) {
      parts_.push_back({std::move(file), 0, 1});
      first_ = std::move(table);
      head_ = std::move(head);
      return;
    }
    if (table.header != first_.header || (table.header && table.fields != first_.fields))
      refuse_file(path,
                  fmt::format("its first line is not as that of {}: files that are read as one table all have the "
                              "same header, or none (data.header)",
                              head_.path));
    parts_.push_back({std::move(file), table.records.begin, table.records.line});
  }

  OpenedFile take() && { return {std::make_unique<InputFile>(name_, std::move(parts_)), std::move(head_)}; }

 private:
  void check_format(const Head& head) {
    const std::string_view format = detect_format(rules_, head);
    if (format != "csv" && format != "tsv")
      refuse_file(head.path, fmt::format("is read as {}: the files that match {} are read as one table (csv, tsv)",
                                         format, name_));
    if (parts_.empty()) format_ = format;
    if (format != format_)
      refuse_file(head.path, fmt::format("is read as {}, and {} as {}: files that are read as one table have one "
                                         "format (data.format)",
                                         format, head_.path, format_));
  }

  const std::string& name_;
  const ReadingRules& rules_;
  std::string_view format_;
  TableHead first_;
  Head head_;
  std::vector<FilePart> parts_;
};

}  // namespace

OpenedFile open_joined(const std::string& name, const std::vector<std::string>& paths, const ReadingRules& rules) {
  if (paths.size() == 1) {
    auto file = std::make_unique<InputFile>(paths.front());
    Head head = read_head(*file, rules);
    return {std::move(file), std::move(head)};
  }
  Joining joining(name, rules);
  for (const std::string& path : paths) joining.add(path);
  return std::move(joining).take();
}

}  // namespace dpmpi
