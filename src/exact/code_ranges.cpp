#include "src/exact/code_ranges.h"

#include <fcntl.h>
#include <unistd.h>

#include "src/base/unique_fd.h"

namespace hwprof::exact {
namespace {

std::uint64_t hexadecimal(const char*& text) {
  std::uint64_t value = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9')
      value = value * 16 + static_cast<std::uint64_t>(*text - '0');
    else if (*text >= 'a' && *text <= 'f')
      value = value * 16 + static_cast<std::uint64_t>(*text - 'a' + 10);
    else
      return value;
  }
}

}  // namespace

// "7f0000000000-7f0000001000 r-xp 00000000 ..."
bool CodeRanges::take_line(const char* line) {
  Range range;
  range.begin = hexadecimal(line);
  if (*line++ != '-') return false;
  range.end = hexadecimal(line);
  if (*line++ != ' ') return false;
  range.readable = line[0] == 'r';
  range.writable = line[1] == 'w';
  if (line[2] != 'x') return true;
  if (count_ == ranges_.size()) return false;
  ranges_.at(count_++) = range;
  return true;
}

bool CodeRanges::read() {
  count_ = 0;
  const UniqueFd file(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return false;
  std::array<char, 64> line{};  // its start says all
  std::size_t length = 0;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got =
        retry_interrupted([&] { return ::read(file.get(), block.data(), block.size()); });
    if (got < 0) return false;
    if (got == 0) return count_ > 0;
    for (ssize_t i = 0; i < got; ++i) {
      const char letter = block[static_cast<std::size_t>(i)];
      if (letter == '\n') {
        line.at(length) = '\0';
        if (!take_line(line.data())) return false;
        length = 0;
      } else if (length + 1 < line.size()) {
        line.at(length++) = letter;
      }
    }
  }
}

std::uint64_t CodeRanges::end_of_code(std::uint64_t address, const char** reason,
                                      bool* writable) const {
  *reason = "lies where no code is mapped";
  for (std::size_t i = 0; i < count_; ++i) {
    const Range& range = ranges_[i];
    if (address < range.begin || address >= range.end) continue;
    *writable = range.writable;
    *reason = range.readable ? nullptr : "cannot be read";
    return *reason == nullptr ? range.end : 0;
  }
  return 0;
}

bool CodeRanges::overlap(std::uint64_t begin, std::uint64_t end) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (begin < ranges_[i].end && ranges_[i].begin < end) return true;
  }
  return false;
}

}  // namespace hwprof::exact
