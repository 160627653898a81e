#include "run/directory/files.hpp"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"

namespace dpmpi {

WholeFile::WholeFile(const std::string& path, std::optional<int> permissions)
    : path_(path), file_(DurableFile::create(path + ".new", permissions.value_or(0644))) {
  if (!permissions) file_.narrow_to_rights_of(path);
}

WholeFile::~WholeFile() {
  if (file_.is_open() && file_.in_place()) ::unlink(file_.path().c_str());
}

// In pieces, so that a watchdog sees a large file grow.
void WholeFile::write(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), FileReader::piece_bytes))) {
    file_.write(bytes.substr(0, FileReader::piece_bytes));
    heartbeat().beat();
  }
}

void WholeFile::commit() {
  file_.sync();
  file_.check_in_place();  // another process may write to the same path
  file_.close();
  rename_file(path_ + ".new", path_);
  sync_folder_of(path_);
}

void write_file(const std::string& path, std::string_view text, std::optional<int> permissions) {
  WholeFile file(path, permissions);
  file.write(text);
  file.commit();
}

LineFile::LineFile(const std::string& path, std::uint64_t offset, int permissions)
    : file_(offset == 0 ? DurableFile::create(path, permissions, O_APPEND)
                        : DurableFile(path, O_WRONLY | O_CREAT | O_APPEND, permissions)),
      size_(offset) {
  if (file_.size() < offset)
    throw DataError(fmt::format(
        "{} is shorter ({} bytes) than when the checkpoint was written ({}): put its lines back, or start a new run",
        path, file_.size(), offset));
  file_.truncate(offset);
}

void LineFile::append(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  fault_point("append");
  file_.write(text);
  size_ += text.size();
}

void LineFile::sync() {
  file_.check_in_place();
  file_.sync();
}

}  // namespace dpmpi
