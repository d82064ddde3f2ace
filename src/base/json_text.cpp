#include "src/base/json_text.h"

#include <fmt/format.h>

#include <cmath>

namespace hwprof {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool second = follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string quoted(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char letter = text.front();
    if (length == 0)
      json += "\\ufffd";
    else if (letter == '"' || letter == '\\')
      json += {'\\', letter};
    else if (static_cast<unsigned char>(letter) < 0x20)
      json += fmt::format("\\u{:04x}", letter);
    else
      json += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return json + '"';
}

std::string number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "null";
  if (*value == std::floor(*value) && std::abs(*value) < 1e15) return fmt::format("{:.0f}", *value);
  return fmt::format("{}", *value);
}

std::string text_or_null(std::string_view text) { return text.empty() ? "null" : quoted(text); }

}  // namespace hwprof
