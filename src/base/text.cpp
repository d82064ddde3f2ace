#include "src/base/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

template <class Number>
std::optional<Number> parse_whole(std::string_view text, int base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

// Not by a stream: where read(2) fails (a process ends while its file in /proc is read), its buffer
// throws.
std::optional<std::string> read_text_file(const std::filesystem::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() ? read_text(file.get()) : std::nullopt;
}

std::optional<std::string> read_text(int fd) { return read_text(fd, SIZE_MAX); }

std::optional<std::string> read_text(int fd, std::size_t most) {
  // Not by way of the stack: in a program that is observed there may be little of it.
  constexpr std::size_t kAtOnce = 8192;
  std::string text;
  while (true) {
    const std::size_t had = text.size();
    text.resize(had + kAtOnce);
    const ssize_t got = retry_interrupted([&] { return ::read(fd, text.data() + had, kAtOnce); });
    if (got < 0) return std::nullopt;
    text.resize(had + static_cast<std::size_t>(got));
    if (got == 0) return text;
    if (text.size() > most) {
      errno = EFBIG;
      return std::nullopt;
    }
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text.remove_prefix(2);
    base = 16;
  }
  return parse_whole<std::uint64_t>(text, base);
}

std::optional<int> parse_int(std::string_view text) { return parse_whole<int>(text, 10); }

}  // namespace hwprof
