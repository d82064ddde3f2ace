// Which memory of this process holds code that may be translated: readable and executable. Where it
// is writable, too, it can change unseen. Read from /proc without the C library's memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hwprof::exact {

class CodeRanges {
 public:
  // Reads the map anew; false where it cannot be read or has more ranges than are kept.
  bool read();
  void forget() { count_ = 0; }
  // The end of the range of `address`, or 0 with the reason why its code is not translated.
  std::uint64_t end_of_code(std::uint64_t address, const char** reason, bool* writable) const;
  [[nodiscard]] bool overlap(std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Range {
    std::uint64_t begin = 0, end = 0;
    bool readable = false, writable = false;
  };
  bool take_line(const char* line);

  std::array<Range, 4096> ranges_;  // of executable memory only
  std::size_t count_ = 0;
};

}  // namespace hwprof::exact
