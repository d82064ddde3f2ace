#include "src/exact/session_memory.h"

#include <cpuid.h>

#include "src/exact/engines.h"

namespace hwprof::exact {
namespace {

constexpr std::size_t kStackBytes = 256U << 10U;
constexpr std::size_t kNotesBytes = std::size_t{64} << 20U;

bool cpu_has_opmasks() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX512BW) != 0;
}

}  // namespace

// Zeroed pages are a Session; a constructor would touch, and so take, all of them.
SessionMemory::SessionMemory()
    : session_(map_zeroed(sizeof(Session))),
      stack_(map_zeroed(kStackBytes)),
      notes_(map_zeroed(kNotesBytes)),
      state_(map_zeroed(state_bytes())) {
  if (!complete()) return;
  Session& to = session();
  to.stack_top = static_cast<std::uint8_t*>(stack_) + kStackBytes - 56;
  to.notes = static_cast<std::uint8_t*>(notes_);
  to.end_of_notes = to.notes + kNotesBytes;
  to.vector_state = static_cast<std::uint8_t*>(state_);
  to.counts_opmasks = cpu_has_opmasks();
}

SessionMemory::~SessionMemory() {
  if (session_ != nullptr) {
    for (CodePiece& piece : session().pieces) unmap_code(piece);
  }
  unmap(session_, sizeof(Session));
  unmap(stack_, kStackBytes);
  unmap(notes_, kNotesBytes);
  unmap(state_, state_bytes());
}

}  // namespace hwprof::exact
