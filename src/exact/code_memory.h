// Memory for translated code. Each piece is mapped twice, once to write and once to execute: where
// a machine forbids memory that is both, this still works. Nothing here calls malloc; the kernel is
// asked directly, since the code that is being counted may hold any lock of the C library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hwprof::exact {

struct Session;

inline std::uint64_t as_number(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

// Fixed places of a piece that its code uses in place of registers.
struct Slots {
  std::uint64_t rax = 0, rcx = 0, rdx = 0, flags = 0, rsp = 0;
  std::uint64_t target = 0;  // where execution goes on, as an address of the program
  std::uint64_t site = 0;    // the jump that brought it here and can be linked, or 0
  std::uint64_t wants_system_call = 0;
};

// Within reach (2 GiB) of the code that it was made for.
struct CodePiece {
  Session* session = nullptr;
  Slots* slots = nullptr;
  std::uint64_t *next_cell = nullptr,
                *end_of_cells = nullptr;                 // counters, and targets of far jumps
  std::uint8_t *code = nullptr, *end_of_code = nullptr;  // to write to: the next free byte
  std::uint8_t* start = nullptr;                         // of all of its addresses
  std::ptrdiff_t to_run = 0;  // from where a byte is written to where it is executed
  std::uint8_t* exit = nullptr;

  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool reaches(std::uint64_t address) const;
};

inline constexpr std::size_t kCellBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kCodeBytes = std::size_t{12} << 20U;

// 0, or the errno of what failed.
int map_code_near(std::uint64_t address, CodePiece& piece);
void unmap_code(CodePiece& piece);

// Zeroed memory, of which only what is touched exists; null when there is none.
void* map_zeroed(std::size_t bytes);
void unmap(void* memory, std::size_t bytes);

}  // namespace hwprof::exact
