#include "run/report/plot.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "run/report/html.hpp"

extern char** environ;

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

/// A folder for gnuplot's input and output, removed with all in it.
class TempFolder {
 public:
  TempFolder() {
    std::error_code absent;
    std::string name = (fs::temp_directory_path(absent) / "dpmpi-plot-XXXXXX").string();
    if (!absent && mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  bool open() const { return !folder_.empty(); }
  std::string file(const char* name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

// posix_spawn, because a plain fork is not safe in a process whose memory a network card knows.
bool run_gnuplot(const std::string& script, const std::string& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<std::string, 2> words{"gnuplot", script};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// In single quotes: in double ones gnuplot runs what stands between backquotes, and names come from anybody's
// files.
std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const bool printable = static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
    if (c == '\'')
      out += "''";
    else
      out += printable && c != '`' ? c : ' ';
  }
  return out + "'";
}

/// Points that can be drawn.
Plot::Line finite(const Plot::Line& line, bool log_x, bool log_y) {
  Plot::Line out{line.name, {}, line.dots};
  for (const auto& [x, y] : line.points)
    if (std::isfinite(x) && std::isfinite(y) && (!log_x || x > 0) && (!log_y || y > 0))
      out.points.emplace_back(x, y);
  return out;
}

std::string script_of(const Plot& plot, const std::vector<Plot::Line>& lines, const std::string& id) {
  std::string text = fmt::format(
      "set terminal svg size 460,300 dynamic noenhanced font 'sans-serif,12' name {}\nset grid lc rgb '#dddddd'\nset border "
      "3 lc rgb '#666666'\nset tics nomirror\nset xlabel {}\nset ylabel {}\nset key above left\n{}{}",
      literal(id), literal(plot.x), literal(plot.y), plot.log_x ? "set logscale x\n" : "",
      plot.log_y ? "set logscale y\n" : "");
  std::string commands;
  bool named = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += fmt::format("$line{} << END\n", i);
    for (const auto& [x, y] : lines[i].points) text += fmt::format("{} {}\n", x, y);
    text += "END\n";
    commands += fmt::format("{}$line{} using 1:2 with {} lw 2 {}", i > 0 ? ", " : "plot ", i,
                            lines[i].dots || lines[i].points.size() < 2 ? "points pt 7" : "lines",
                            lines[i].name.empty() ? "notitle" : "title " + literal(lines[i].name));
    named = named || !lines[i].name.empty();
  }
  return text + (named ? "" : "unset key\n") + commands + "\n";
}

}  // namespace

std::string svg(const Plot& plot, const std::string& id) {
  std::vector<Plot::Line> lines;
  for (const auto& line : plot.lines)
    if (auto drawn = finite(line, plot.log_x, plot.log_y); !drawn.points.empty()) lines.push_back(std::move(drawn));
  const TempFolder folder;
  if (lines.empty() || !folder.open()) return "";
  std::ofstream(folder.file("plot.gp")) << script_of(plot, lines, id);
  if (!run_gnuplot(folder.file("plot.gp"), folder.file("plot.svg"))) return "";
  std::ostringstream drawn;
  drawn << std::ifstream(folder.file("plot.svg")).rdbuf();
  const std::string text = drawn.str();
  const std::size_t begin = text.find("<svg");
  return begin == text.npos ? "" : text.substr(begin);
}

Gallery::Gallery(std::string id) : id_(std::move(id)) {}

void Gallery::add(const Plot& plot) {
  const auto nothing = [](const Plot::Line& line) { return line.points.size() < (line.dots ? 1 : 2); };
  if (std::all_of(plot.lines.begin(), plot.lines.end(), nothing)) return;
  markup_ += svg(plot, fmt::format("{}{}_", id_, ++wanted_));
}

std::string Gallery::markup() const {
  if (markup_.empty())
    return wanted_ > 0
               ? html::paragraph("(No plots: gnuplot is not installed, or has no folder for temporary files.)")
               : "";
  return "<div class=\"plots\">" + markup_ + "</div>\n";
}

}  // namespace dpmpi
