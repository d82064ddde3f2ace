// What one counted region owns: memory for code, the blocks in it, and what went wrong. All of it
// is mapped before the region starts or asked of the kernel directly; it is given back at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/exact/code_memory.h"
#include "src/exact/code_ranges.h"
#include "src/exact/counts.h"
#include "src/exact/decode.h"

namespace hwprof::exact {

struct CountedInstruction {
  Effect effect;
  std::uint64_t* units = nullptr;  // see add(); null without a mask and rep
};

// Instructions up to the first that may jump: if the first runs, all do.
struct Block {
  std::uint64_t key = 0;  // its address in the program; of a checked system call with kChecked
  std::uint64_t begin = 0, end = 0;
  std::uint8_t* code = nullptr;  // to run
  const CodePiece* piece = nullptr;
  std::uint64_t* executions = nullptr;
  CountedInstruction* instructions = nullptr;
  std::size_t count = 0;
  std::uint64_t fingerprint = 0;  // of its bytes when they were translated
  bool current = true;            // false: translated anew since
  // Lies in writable memory: looked at before each execution, so that nothing leads there directly.
  bool may_change = false;
  Block* next = nullptr;
};

inline constexpr std::uint64_t kChecked = 1ULL << 63U;
inline constexpr std::size_t kLongestBlock = 64;
inline constexpr std::size_t kBlockPlaces = 1U << 16U;
inline constexpr std::size_t kJumpPlaces = 1U << 16U;

// Where indirect jumps find their block: by the lower 16 bits of the address. The keys are negated,
// since lea and jrcxz then compare without the flags.
struct JumpTable {
  std::array<std::uint64_t, kJumpPlaces> minus_address;
  std::array<const std::uint8_t*, kJumpPlaces> code;
};

struct Session {
  CodeRanges ranges;
  std::array<CodePiece, 16> pieces;
  std::size_t piece_count = 0;
  std::array<Block*, kBlockPlaces> places;
  std::size_t used_places = 0;
  Block* blocks = nullptr;
  JumpTable jumps;
  std::array<Instruction, kLongestBlock> decoded;
  std::uint8_t* notes = nullptr;  // where blocks and their instructions are written down
  std::uint8_t* end_of_notes = nullptr;
  std::uint8_t* stack_top = nullptr;
  std::uint8_t* vector_state = nullptr;
  bool counts_opmasks = false;  // this CPU has kmovq
  // Whoever gets there runs it as it is: the region is at its end.
  std::uint64_t ends_at = 0;
  bool reached_end = false;
  // The first reason why the counts are not those of the region, with the place of it.
  const char* refusal = nullptr;
  std::uint64_t refused_at = 0;
  int refusal_errno = 0;

  void refuse(const char* reason, std::uint64_t address, int error = 0);
  void* note(std::size_t bytes);
  // Whether its bytes are others than those that were translated.
  [[nodiscard]] static bool changed(const Block& block);
  // Forgets all translations, since code may be about to change; what they counted stays.
  void flush();
  // Refuses where code is not what it was when it was translated.
  void check_code();
};

// The block at `key`, translated if it is new; null after refuse().
Block* block_at(Session& session, std::uint64_t key);
// Makes the jump at `site` (see Slots) lead to `block` from now on.
void link(CodePiece& from, std::uint64_t site, const Block& block);

// Saved at an exit from translated code.
struct SavedRegisters {
  std::uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, flags;
};

// Called from translated code that does not know where to go on.
extern "C" __attribute__((visibility("hidden"))) void hwprof_exact_dispatch(
    CodePiece* piece, const SavedRegisters* registers);

}  // namespace hwprof::exact
