#include "data/formats/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "data/formats/gzip.hpp"

namespace dpmpi {
namespace {

struct stat facts_of_regular_file(int descriptor, const std::string& path) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) refuse_file(path, std::strerror(errno));
  if (S_ISDIR(info.st_mode)) refuse_file(path, "is a directory; a file is expected");
  if (!S_ISREG(info.st_mode))
    refuse_file(path, "is not a regular file (a pipe or device): copy its data to a file first");
  if (info.st_size == 0) refuse_file(path, "is empty");
  return info;
}

std::size_t read_at(int descriptor, const std::string& path, std::uint64_t offset, std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(descriptor, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      refuse_file(path, fmt::format("cannot be read at byte {}: {}", offset + done, std::strerror(errno)));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

struct FileEnd {
  std::uint64_t bytes = 0;
  bool ends_line = false;
};

/// A gzipped file is read to its end.
FileEnd end_of(InputFile& file) {
  if (!file.gzip()) return {file.size(), file.read(file.size() - 1, 1) == "\n"};
  Progress progress("decompressing " + std::filesystem::path(file.path()).filename().string(), 0, "");
  std::vector<char> buffer(std::size_t{1} << 20);
  FileEnd end;
  while (const std::size_t got = file.read(end.bytes, buffer)) {
    end = {end.bytes + got, buffer[got - 1] == '\n'};
    progress.add(got);
  }
  return end;
}

}  // namespace

void refuse_file(const std::string& path, const std::string& what) {
  throw DataError(fmt::format("{}: {}", path, what));
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer before its kind can be checked.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) refuse_file(path_, fmt::format("cannot be opened: {}", std::strerror(errno)));
  try {
    const struct stat info = facts_of_regular_file(descriptor_, path_);
    size_ = static_cast<std::uint64_t>(info.st_size);
    device_ = static_cast<std::uint64_t>(info.st_dev);
    inode_ = static_cast<std::uint64_t>(info.st_ino);
    char magic[2] = {};
    if (read_at(descriptor_, path_, 0, magic) != 2 || magic[0] != '\x1f' || magic[1] != '\x8b') return;
    gzip_ = std::make_unique<GzipReader>(
        path_, [descriptor = descriptor_, name = path_](std::uint64_t offset, std::span<char> out) {
          return read_at(descriptor, name, offset, out);
        });
    size_ = 0;
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

InputFile::InputFile(std::string name, std::vector<FilePart> parts)
    : path_(std::move(name)), parts_(std::move(parts)) {
  for (const FilePart& part : parts_) {
    const auto [bytes, ends_line] = end_of(*part.file);
    verify(part.begin < bytes, "a part is not empty");
    const std::uint64_t end = size_ + bytes - part.begin + (ends_line ? 0 : 1);
    places_.push_back({size_, end, part.line, part.file->path()});
    size_ = end;
  }
}

InputFile::InputFile(std::string name, std::unique_ptr<FileContent> content)
    : path_(std::move(name)), size_(content->size()), content_(std::move(content)) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::size_t InputFile::part_at(std::uint64_t offset) const {
  const auto after = std::ranges::upper_bound(places_, offset, {}, &PartPlace::offset);
  return after == places_.begin() ? 0 : static_cast<std::size_t>(after - places_.begin()) - 1;
}

const InputFile::PartPlace* InputFile::part_begun_at(std::uint64_t offset) const {
  if (places_.empty()) return nullptr;
  const PartPlace& place = places_[part_at(offset)];
  return place.offset == offset ? &place : nullptr;
}

std::size_t InputFile::read_parts(std::uint64_t offset, std::span<char> out) {
  std::size_t done = 0;
  for (std::size_t p = part_at(offset); p < parts_.size() && done < out.size(); ++p) {
    const PartPlace& place = places_[p];
    const std::uint64_t skipped = offset + done - place.offset;
    const auto wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(out.size() - done, place.end - std::min(place.end, offset + done)));
    if (wanted == 0) continue;
    const std::size_t got = parts_[p].file->read(parts_[p].begin + skipped, out.subspan(done, wanted));
    done += got;
    if (got == wanted) continue;
    if (got + 1 < wanted) return done;  // it is shorter than before
    out[done++] = '\n';
  }
  return done;
}

std::shared_ptr<const MappedFile> InputFile::mapped() const {
  verify(descriptor_ >= 0 && !gzip_, "a plain file is mapped");
  return std::make_shared<MappedFile>(descriptor_, path_);
}

std::size_t InputFile::read(std::uint64_t offset, std::span<char> out) {
  if (!parts_.empty()) return read_parts(offset, out);
  if (content_) {
    const auto there =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - std::min(offset, size_)));
    content_->read(offset, out.first(there));
    return there;
  }
  return gzip() ? gzip_->read(offset, out) : read_at(descriptor_, path_, offset, out);
}

std::string InputFile::read(std::uint64_t offset, std::size_t bytes) {
  if (!gzip()) bytes = std::min<std::uint64_t>(bytes, size_ - std::min(offset, size_));
  // How much a gzip file holds is not known: each piece is as large as all before it.
  const std::size_t first = gzip() ? std::size_t{1} << 16 : bytes;
  std::string out;
  while (out.size() < bytes) {
    const std::size_t had = out.size(), wanted = std::min(bytes - had, std::max(first, had));
    out.resize(had + wanted);
    const std::size_t got = read(offset + had, std::span(out).subspan(had));
    out.resize(had + got);
    if (got < wanted) break;
  }
  return out;
}

}  // namespace dpmpi
