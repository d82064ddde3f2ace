#include "src/workloads/inputs/line_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "src/base/files.h"
#include "src/base/untrusted_file.h"

namespace hwprof {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Result<std::size_t> read_some(int fd, char* to, std::size_t bytes, const std::string& path) {
  const ssize_t got = retry_interrupted([&] { return ::read(fd, to, bytes); });
  if (got >= 0) return static_cast<std::size_t>(got);
  return environment_error(
      errno, fmt::format("cannot read {}: {}", display_name(path), std::strerror(errno)));
}

tl::unexpected<Error> no_copy(int code, std::string_view what) {
  return environment_error(code,
                           fmt::format("cannot {} a temporary file: {}", what, std::strerror(code)),
                           "save the input to a file and name that");
}

// A link may lead to a device, or to a pipe that nobody writes into, be it one's own.
bool is_file_or_own_pipe(const UniqueFd& found, const std::string& path) {
  struct stat status {
  }, named{};
  if (::fstat(found.get(), &status) != 0) return false;
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return true;
  return S_ISFIFO(status.st_mode) && status.st_uid == ::geteuid() &&
         ::lstat(path.c_str(), &named) == 0 && named.st_ino == status.st_ino &&
         named.st_dev == status.st_dev;
}

}  // namespace

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<UniqueFd> open_input(const std::string& path) {
  constexpr std::string_view kDevices = "/dev/";
  // What the user names himself: his shell's, or a device, in a folder that is root's.
  const bool is_named = is_open_file(path) || (path.starts_with(kDevices) &&
                                               path.find('/', kDevices.size()) == path.npos);
  UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), (is_named ? O_RDONLY : O_PATH) | O_CLOEXEC));
  if (fd.valid() && path != "-" && !is_named) {
    if (!is_file_or_own_pipe(fd, path))
      return usage_error(
          fmt::format("{} is a device, or another user's pipe, or leads to a pipe", path),
          "\"-\" reads standard input");
    fd = reopen(fd, O_RDONLY);
  }
  if (!fd.valid()) {
    const int code = errno;
    return tl::make_unexpected(
        Error{Fault::kUsage, code,
              fmt::format("cannot open {}: {}", display_name(path), std::strerror(code)),
              code == EACCES ? "you may not read it: see ls -l" : "check the path"});
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return usage_error(fmt::format("{} is a directory", display_name(path)), "name a file in it");
  }
  return fd;
}

Result<LineReader> LineReader::open(const std::string& path, std::size_t longest_line) {
  Result<UniqueFd> fd = open_input(path);
  if (!fd) return error_of(fd);
  return LineReader(*std::move(fd), path, longest_line);
}

std::string LineReader::place() const {
  return fmt::format("line {} of {}", line_number_, display_name(path_));
}

Result<void> LineReader::rewind() {
  if (::lseek(fd_.get(), 0, SEEK_SET) < 0) {
    return environment_error(
        errno, fmt::format("cannot read {} twice: {}", display_name(path_), std::strerror(errno)));
  }
  begin_ = scanned_ = end_ = 0;
  line_number_ = 0;
  return {};
}

Result<void> LineReader::keep() {
  if (::lseek(fd_.get(), 0, SEEK_CUR) >= 0) return {};
  std::FILE* file = std::tmpfile();
  const int code = errno;
  UniqueFd copy(file != nullptr ? ::fcntl(::fileno(file), F_DUPFD_CLOEXEC, 0) : -1);
  if (file != nullptr) std::fclose(file);
  if (!copy.valid()) return no_copy(code, "create");
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const auto got = read_some(fd_.get(), chunk.data(), chunk.size(), path_);
    if (!got) return error_of(got);
    if (*got == 0) break;
    if (const int failed = write_all(copy.get(), {chunk.data(), *got})) {
      return no_copy(failed, "write");
    }
  }
  fd_ = std::move(copy);
  return rewind();
}

Result<bool> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kChunkBytes) buffer_.resize(end_ + kChunkBytes);
  const auto got = read_some(fd_.get(), buffer_.data() + end_, kChunkBytes, path_);
  if (!got) return error_of(got);
  end_ += *got;
  return *got > 0;
}

Result<std::optional<std::string_view>> LineReader::next() {
  std::size_t length = 0;
  std::size_t skip = 1;  // the line end
  for (;;) {
    const void* found =
        end_ > scanned_ ? std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_) : nullptr;
    if (found != nullptr) {
      length = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) - begin_;
      break;
    }
    scanned_ = end_;
    length = end_ - begin_;
    if (length > longest_line_) break;
    const auto more = fill();
    if (!more) return error_of(more);
    if (!*more) {
      if (length == 0) return std::nullopt;
      skip = 0;
      break;
    }
  }
  ++line_number_;
  auto line = finish_line(length, skip);
  if (!line) return error_of(line);
  return *line;
}

Result<std::string_view> LineReader::finish_line(std::size_t length, std::size_t skip) {
  std::string_view line(buffer_.data() + begin_, length);
  begin_ += length + skip;
  scanned_ = begin_;
  if (const auto nul = line.find('\0'); nul != std::string_view::npos) {
    return usage_error(
        fmt::format("{} holds a NUL byte (byte {} of the line): not a text file", place(), nul + 1),
        "give plain text in UTF-8");
  }
  if (length > longest_line_) {
    return usage_error(
        fmt::format("{} is longer than {} MiB", place(), longest_line_ >> 20),
        "one line is one document or one word vector: does the file have line ends?");
  }
  if (line_number_ == 1 && line.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

Result<std::string> read_lines(const std::string& path, std::size_t most_bytes,
                               std::string_view what) {
  TRY(LineReader reader, LineReader::open(path, most_bytes + 1));
  std::string text;
  while (true) {
    TRY(const std::optional<std::string_view> line, reader.next());
    if (!line) return text;
    if (reader.line_number() > 1) text.push_back('\n');
    text.append(*line);
    if (text.size() > most_bytes) {
      return usage_error(
          fmt::format("{} is larger than {} MiB: no {}", path, most_bytes >> 20, what));
    }
  }
}

}  // namespace hwprof
