#include "src/report/printable.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>

namespace hwprof::report {
namespace {

bool is_visible(UChar32 c) {
  switch (u_charType(c)) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
    case U_SURROGATE:
    case U_UNASSIGNED:
    case U_PRIVATE_USE_CHAR:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t i = 0; i < size;) {
    const std::int32_t start = i;
    UChar32 c = 0;
    U8_NEXT(text.data(), i, size, c);
    const std::string_view bytes =
        text.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(i - start));
    if (c < 0) {
      for (const char byte : bytes) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else if (is_visible(c)) {
      out += bytes;
    } else if (c < 0x80) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c));
    }
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  const auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t i = 0; i < size;) {
    UChar32 c = 0;
    U8_NEXT(text.data(), i, size, c);
    if (c < 0) {
      ++width;
      continue;
    }
    const int kind = u_charType(c);
    if (kind == U_NON_SPACING_MARK || kind == U_ENCLOSING_MARK) continue;
    const int wide = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
    width += wide == U_EA_WIDE || wide == U_EA_FULLWIDTH ? 2 : 1;
  }
  return width;
}

}  // namespace hwprof::report
