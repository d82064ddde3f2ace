#include "src/workloads/inputs/tokens.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace hwprof {
namespace {

enum : std::uint8_t { kOther = 0, kWord = 1, kNumeric = 2 };

constexpr std::array<std::uint8_t, 128> kAscii = [] {
  std::array<std::uint8_t, 128> kinds{};
  for (std::size_t c = '0'; c <= '9'; ++c) kinds[c] = kWord | kNumeric;
  for (std::size_t c = 'a'; c <= 'z'; ++c) kinds[c] = kinds[c - 'a' + 'A'] = kWord;
  kinds['_'] = kWord;
  return kinds;
}();

std::uint8_t kind_of(UChar32 c) {
  if (u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE) != U_NT_NONE) return kWord | kNumeric;
  return u_isalpha(c) ? kWord : kOther;
}

// str.lower(): the full mapping of the root locale, final sigma included. ASCII needs no ICU.
void lower(std::string_view word, bool ascii, std::string& lowered) {
  lowered.clear();
  if (ascii) {
    for (const char c : word) {
      lowered += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return;
  }
  UErrorCode status = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&lowered);
  icu::CaseMap::utf8ToLower("", 0,
                            icu::StringPiece(word.data(), static_cast<std::int32_t>(word.size())),
                            sink, nullptr, status);
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  const char* bytes = text.data();
  const std::size_t size = text.size();
  std::size_t i = 0;
  while (i < size) {
    std::uint64_t eight = 0;
    if (size - i >= sizeof eight) {
      std::memcpy(&eight, bytes + i, sizeof eight);
      if ((eight & 0x8080808080808080U) == 0) {
        i += sizeof eight;
        continue;
      }
    }
    const std::size_t start = i;
    UChar32 c = 0;
    U8_NEXT(bytes, i, size, c);
    if (c < 0) return start;
  }
  return std::nullopt;
}

bool tokenize(std::string_view text, std::size_t limit,
              const std::function<void(std::string_view)>& found) {
  const char* bytes = text.data();
  const std::size_t size = text.size();
  std::string lowered;
  std::size_t count = 0;
  std::size_t i = 0;
  while (i < size) {
    // One word: [start, end) as far as the characters go on being of \w.
    std::size_t start = i;
    std::size_t end = i;
    bool ascii = true;
    bool numeric = true;
    while (i < size) {
      std::uint8_t kind = kOther;
      const auto byte = static_cast<unsigned char>(bytes[i]);
      if (byte < kAscii.size()) {
        kind = kAscii[byte];
        ++i;
      } else {
        UChar32 c = 0;
        U8_NEXT_UNSAFE(bytes, i, c);
        kind = kind_of(c);
        ascii = ascii && kind == kOther;
      }
      if (kind == kOther) break;
      numeric = numeric && (kind & kNumeric) != 0;
      end = i;
    }
    if (end == start || numeric) continue;
    if (count == limit) return true;
    ++count;
    lower(text.substr(start, end - start), ascii, lowered);
    found(lowered);
  }
  return false;
}

}  // namespace hwprof
