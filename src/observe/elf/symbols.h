// An ELF file that was sampled: names and source lines of its code by elfutils (libdwfl), and the
// code itself. Everything is asked by file offset, which is what a mapping gives: no load address
// is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/model/stacks.h"

namespace hwprof::observe {

struct CodeBytes {
  std::uint64_t address = 0;  // of the first; file offset of ElfCode, else in the process
  std::vector<std::byte> bytes;
};

class ElfCode {
 public:
  // `file` is open; `path` is its name, where debug information is looked for. Refuses what is no
  // ELF file for this kind of machine.
  static Result<ElfCode> open(UniqueFd file, const std::string& path);
  ElfCode(ElfCode&&) noexcept;
  ElfCode& operator=(ElfCode&&) noexcept;
  ~ElfCode();

  // Demangled; "" where no symbol (dynamic, static, or of separate debug information) covers it.
  [[nodiscard]] std::string symbol(std::uint64_t file_offset);
  // Of the innermost function, which may be an inlined one; its name is not looked up.
  [[nodiscard]] std::optional<report::SourceLine> line(std::uint64_t file_offset);
  // The same with those around it, innermost first: each function stands, inlined, within the next.
  // The last has no name, which symbol() has. Takes a walk through what the compiler says of the
  // whole source file. Empty: no line is known.
  [[nodiscard]] std::vector<report::SourceLine> lines(std::uint64_t file_offset);
  // Up to `reach` bytes before and behind, within the segment; empty when the file cannot be read
  // or was written to since it was opened.
  [[nodiscard]] CodeBytes code(std::uint64_t file_offset, std::uint64_t reach) const;
  [[nodiscard]] bool changed() const;
  [[nodiscard]] const std::string& build_id() const;  // hexadecimal; "": it has none
  [[nodiscard]] std::uint64_t bytes() const;          // of the file
  // Of the file, as long as this lives.
  [[nodiscard]] int descriptor() const;
  // Pointers to sched_yield that the dynamic loader fills in, at the file offsets at which code at
  // `file_offset` would see them.
  [[nodiscard]] std::set<std::uint64_t> yield_slots(std::uint64_t file_offset) const;
  // Where the function around it begins, by unwind information: stripped files keep that.
  [[nodiscard]] std::optional<std::uint64_t> function_begin(std::uint64_t file_offset) const;

 private:
  struct State;
  explicit ElfCode(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "_ZN3foo3barEv" -> "foo::bar()"; other names as they are.
std::string demangle(const std::string& name);

}  // namespace hwprof::observe
