#include "src/report/render/write_report.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "src/observe/monitor/errands.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

constexpr std::chrono::seconds kPatience{20};  // a disk may be slow
constexpr int kLeastColumns = 40, kMostColumns = 500;
constexpr int kWidestPage = 160;  // of a terminal: wider lines are hard to read

// 0: not set, or no width.
int columns_variable() {
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  int columns = 0;
  const auto end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, columns);
  const bool sane = error == std::errc() && stop == end && columns >= kLeastColumns;
  return sane ? std::min(columns, kMostColumns) : 0;
}

TextStyle style_of(const Output& output, Stream stream) {
  TextStyle style{.full = output.full};
  const int fd = stream == Stream::kStderr ? STDERR_FILENO : STDOUT_FILENO;
  const bool terminal = output.file.empty() && ::isatty(fd) == 1;
  if (terminal) {
    const char* no_colour = std::getenv("NO_COLOR");  // no-color.org: set and not empty
    style.colour = no_colour == nullptr || *no_colour == '\0';
  }
  winsize size{};
  if (const int columns = columns_variable()) {
    style.columns = columns;
  } else if (terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.columns = std::clamp<int>(size.ws_col, kLeastColumns, kWidestPage);
  }
  return style;
}

Result<void> write_to(int fd, const std::string& bytes, const std::string& name) {
  const int code = write_all(fd, bytes);
  if (code == 0) return {};
  return environment_error(code, "cannot write to " + name + ": " + std::strerror(code));
}

Result<void> write_stream(Stream stream, const std::string& bytes) {
  return stream == Stream::kStderr ? write_stderr(bytes) : write_stdout(bytes);
}

}  // namespace

Result<void> write_stdout(const std::string& bytes) {
  return write_to(STDOUT_FILENO, bytes, "standard output");
}

Result<void> write_stderr(const std::string& bytes) {
  return write_to(STDERR_FILENO, bytes, "standard error");
}

Result<void> check_output(const std::string& file) {
  observe::Errands errands;
  return observe::at_file(errands, file, kPatience, [&] { return check_writable(file); });
}

Result<void> write_output(const std::string& file, const std::string& bytes) {
  observe::Errands errands;
  return observe::at_file(errands, file, kPatience, [&] { return write_file(file, bytes); });
}

Result<void> check_outputs(const Output& output, std::initializer_list<std::string_view> more,
                           const std::function<Result<void>(const std::string&)>& check) {
  std::vector<std::string_view> files = {output.file, output.page};
  files.insert(files.end(), more.begin(), more.end());
  std::set<std::string_view> named;
  for (const std::string_view file : files) {
    if (file.empty()) continue;
    if (!named.insert(file).second) {
      return usage_error(fmt::format("two outputs name the file {}", file),
                         "the later would replace the earlier");
    }
    TRY(check(std::string(file)));
  }
  return {};
}

std::string rendered(const Document& document, const Output& output, Stream stream) {
  if (output.format == Format::kMarkdown) return as_markdown(document);
  const std::string text = as_text(document, style_of(output, stream));
  // Apart from what the observed program has written there.
  return stream == Stream::kStderr && output.file.empty() ? "\n" + text : text;
}

Result<void> write_bytes(const std::string& bytes, const Output& output, Stream stream) {
  return output.file.empty() ? write_stream(stream, bytes) : write_output(output.file, bytes);
}

tl::unexpected<Error> print_instead(Error failed, const std::string& bytes, Stream stream) {
  if (write_stream(stream, bytes))
    failed.hint += fmt::format("{}what was to be written is on standard {} instead",
                               failed.hint.empty() ? "" : "; ",
                               stream == Stream::kStderr ? "error" : "output");
  return tl::make_unexpected(std::move(failed));
}

}  // namespace hwprof::report
