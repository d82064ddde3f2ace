// Lines of a text file of any size in bounded memory, from a file or a pipe. What is not text (a
// directory, NUL bytes, a line without end) is refused with its place, before it costs time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{8} << 20;  // 8 MiB

  // "-" is standard input. Fault::kUsage when the file cannot be opened, or is a directory.
  static Result<LineReader> open(const std::string& path, std::size_t longest_line = kMaxLineBytes);

  // The next line without its end ("\n" or "\r\n") and, at the start of the file, without a UTF-8
  // byte order mark; valid until the next call. Absent at the end of the file.
  Result<std::optional<std::string_view>> next();
  // Number of the line that next() gave last, from 1.
  [[nodiscard]] std::uint64_t line_number() const { return line_number_; }

  // Back to the first line; only before the first next() for what cannot seek, which is copied
  // to a temporary file by keep().
  Result<void> rewind();
  // Makes rewind() work on a pipe. A no-op for what can seek.
  Result<void> keep();

  // "line 7 of PATH"
  [[nodiscard]] std::string place() const;

 private:
  LineReader(UniqueFd fd, std::string path, std::size_t longest_line)
      : fd_(std::move(fd)), path_(std::move(path)), longest_line_(longest_line) {}
  Result<bool> fill();  // false at the end of the file
  Result<std::string_view> finish_line(std::size_t length, std::size_t skip);

  UniqueFd fd_;
  std::string path_;
  std::size_t longest_line_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what next() has not given out yet
  std::size_t scanned_ = 0;  // no line end before this
  std::size_t end_ = 0;      // of what was read
  std::uint64_t line_number_ = 0;
};

// All lines, each but the last followed by "\n". What is larger than `most_bytes` is refused as
// "no `what`".
Result<std::string> read_lines(const std::string& path, std::size_t most_bytes,
                               std::string_view what);

// Opening a file that the user named, with the errors that all readers have in common.

// "-" is standard input, as a descriptor of its own. Fault::kUsage when the file cannot be opened,
// or is a directory.
Result<UniqueFd> open_input(const std::string& path);

// "standard input" for "-", else the path: what a message calls it.
std::string display_name(const std::string& path);

}  // namespace hwprof
