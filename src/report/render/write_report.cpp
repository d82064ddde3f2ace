#include "src/report/render/write_report.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "src/report/render/output.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

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

}  // namespace

std::string rendered(const Document& document, const Output& output, Stream stream) {
  if (output.format == Format::kMarkdown) return as_markdown(document);
  const std::string text = as_text(document, style_of(output, stream));
  // Apart from what the observed program has written there.
  return stream == Stream::kStderr && output.file.empty() ? "\n" + text : text;
}

Result<void> write_bytes(const std::string& bytes, const Output& output, Stream stream) {
  if (!output.file.empty()) return write_file(output.file, bytes);
  return stream == Stream::kStderr ? write_stderr(bytes) : write_stdout(bytes);
}

}  // namespace hwprof::report
