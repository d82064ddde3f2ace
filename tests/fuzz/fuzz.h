// What the targets share. A target is one parser of bytes that another user may have written
// (docs/testing.md, "Fuzzing"); beside not crashing, it may hold the parser to what it promises.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "src/base/json_text.h"
#include "src/base/unique_fd.h"

// Defined by each target.
void fuzz(std::string_view text);

inline void must(bool holds) {
  if (!holds) std::abort();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// UTF-8 without control characters: what a terminal, a page or another tool may be given.
inline bool is_plain(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = hwprof::utf8_length(text);
    if (length == 0 || static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7f) return false;
    if (length == 2 && text.starts_with('\xc2') && static_cast<unsigned char>(text[1]) < 0xa0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

inline hwprof::UniqueFd file_of(std::string_view text) {
  hwprof::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  must(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return file;
}

// For what takes a path; as long as the file is open.
inline std::string path_of(const hwprof::UniqueFd& file) {
  return fmt::format("/proc/self/fd/{}", file.get());
}

// An input taken apart into the parts of what cannot be reached by plain bytes. Ends in zeros and
// empty texts, so that every input is one.
class Feed {
 public:
  explicit Feed(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  std::string_view take(std::size_t size) {
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(part.size());
    return part;
  }
  // Little-endian.
  template <class Number>
  Number number() {
    Number value = 0;
    const std::string_view part = take(sizeof value);
    std::memcpy(&value, part.data(), part.size());
    return value;
  }
  std::size_t below(std::size_t bound) { return number<std::uint8_t>() % bound; }
  // Behind its length.
  std::string_view text() { return take(number<std::uint8_t>()); }

 private:
  std::string_view rest_;
};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
