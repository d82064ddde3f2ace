// A region of this thread between two places of its code, in translation from the one to the other.
#pragma once

#include "src/exact/exact.h"
#include "src/exact/session_memory.h"

namespace hwprof::exact {

class OpenBlocks {
 public:
  // From `from` on, as soon as the caller jumps to code() instead, until the thread gets to
  // `ends_at`, which it runs as it is.
  static Result<OpenBlocks> begin(const void* from, const void* ends_at);
  [[nodiscard]] const void* code() const { return code_; }
  // Once, there.
  Result<Counted> end();

 private:
  OpenBlocks(SessionMemory memory, const void* code) : memory_(std::move(memory)), code_(code) {}

  SessionMemory memory_;
  const void* code_;
};

}  // namespace hwprof::exact
