// The name of a region, compared with that of each entry. By its text, not by its address: a
// program may write another name to the same place. strlen and memcmp took a third of an edge, so
// the text is kept as the caller's stands in memory: in whole words from an aligned address on.
// Internal to counters/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/sanitized.h"

namespace hwprof {

class RegionName {
 public:
  explicit RegionName(const char* name);
  RegionName(const RegionName&) = delete;
  RegionName& operator=(const RegionName&) = delete;

  // Whether is_like() may be asked.
  [[nodiscard]] bool stands_like(const char* name) const {
    return !HWPROF_SANITIZED && misalignment_of(name) == misalignment_;
  }
  // Eight instructions for each word of eight characters.
  [[nodiscard]] bool is_like(const char* name) const {
    // Never past the word in which the text ends, so never into a page that it does not touch. The
    // address goes through an empty instruction: to the compiler, a read beyond an array is none.
    std::uintptr_t aligned = reinterpret_cast<std::uintptr_t>(name) - misalignment_;
    asm("" : "+r"(aligned));
    const Word* word = reinterpret_cast<const Word*>(aligned);
    const Part* part = first_;
    const Part* const end = end_;
    while ((*word & part->mask) == part->text) {
      if (++part == end) return true;
      ++word;
    }
    return false;
  }
  [[nodiscard]] bool is(const char* name) const {
    return stands_like(name) ? is_like(name) : text_ == name;
  }
  // From now on names are compared fastest with one that stands as this one does. Of the same text.
  void stand_like(const char* name);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  using Word [[gnu::may_alias]] = std::uint64_t;
  struct Part {
    std::uint64_t text = 0, mask = 0;  // 0 where neither the text nor its end is
  };

  // From the last aligned address at or before it.
  static std::uintptr_t misalignment_of(const char* name) {
    return reinterpret_cast<std::uintptr_t>(name) % sizeof(Word);
  }

  const Part *first_ = nullptr, *end_ = nullptr;  // of parts_, which has room for any place
  std::uintptr_t misalignment_ = 0;
  std::vector<Part> parts_;
  const std::string text_;
};

}  // namespace hwprof
