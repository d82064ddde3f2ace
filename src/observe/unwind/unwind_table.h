// The unwind information of one ELF file: .eh_frame, or else .debug_frame. elfutils reads it, once
// for each instruction that is asked for; the rows are kept. Asked by file offset, as symbols.h.
//
// The file may be anybody's: it is read and not mapped, and what reading it may cost is bounded by
// a budget that all files share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/observe/unwind/row.h"

namespace hwprof::observe {

struct UnwindBudget {
  std::size_t rows = 300'000;  // of about 200 bytes
  double cpu_ns = 5e9;         // for reading them

  [[nodiscard]] bool spent() const { return rows == 0 || cpu_ns <= 0; }
};

// Whether the bytes before a return address end in a call. Pure.
bool ends_in_call(std::span<const std::byte> code);
inline constexpr std::size_t kLongestCall = 8;

class UnwindTable {
 public:
  // Of a file that stays the caller's, who keeps it open, and the budget too.
  UnwindTable(int descriptor, UnwindBudget& budget);
  // Of the code that the kernel gives to every process: this one's own.
  static UnwindTable of_vdso(UnwindBudget& budget);
  UnwindTable(UnwindTable&&) noexcept;
  UnwindTable& operator=(UnwindTable&&) noexcept;
  ~UnwindTable();

  // Of the instruction around it; nullptr: none is known. Stays where it is.
  const UnwindRow* row(std::uint64_t file_offset);
  // The instruction before it is a call.
  bool follows_call(std::uint64_t file_offset);
  // Within the first instructions of the program or dynamic loader, which nothing called.
  [[nodiscard]] bool is_entry(std::uint64_t file_offset) const;

 private:
  struct State;
  explicit UnwindTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hwprof::observe
