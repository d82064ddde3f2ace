// What a system call means for translated code: whether it may be made from there.
#pragma once

#include <cstdint>

#include "src/exact/code_ranges.h"

namespace hwprof::exact {

struct SystemCall {
  std::uint64_t number = 0, first = 0, second = 0, third = 0, fourth = 0;
};

enum class Consequence : std::uint8_t {
  kNone,
  kCodeChanges,  // code is mapped, unmapped or made executable: translate anew
  kLeave,        // it starts or replaces what would run uncounted
};

struct Judgement {
  Consequence consequence = Consequence::kNone;
  const char* reason = nullptr;  // of kLeave, as the end of a sentence
};

Judgement judge(const SystemCall& call, const CodeRanges& ranges);

}  // namespace hwprof::exact
