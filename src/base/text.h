// Small helpers for text, and for the text files of /proc and /sys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof {

// Whole content, absent when it cannot be read. Files of /proc have no size: read to the end.
std::optional<std::string> read_text_file(const std::filesystem::path& path);
// The same of a descriptor, from where it stands.
std::optional<std::string> read_text(int fd);
// Absent with EFBIG, too, where there are more bytes than that.
std::optional<std::string> read_text(int fd, std::size_t most);

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string lower(std::string_view text);

// "a, b, c"
template <class Words>
std::string join(const Words& words) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

// As a POSIX shell takes them: words with blanks or signs between quotes.
std::string shell_command(const std::vector<std::string>& words);

// "0x1f", "31": the whole text or nothing. Base 16 without prefix where `base` says so.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base = 10);
std::optional<int> parse_int(std::string_view text);

}  // namespace hwprof
