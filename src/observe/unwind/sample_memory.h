// The stack of a sample: the copy that came with it, and pages of the living process beyond. What
// callers have on their stacks does not change while they wait, so what lies beyond the copy
// (frames of 20 to 130 KiB; pages that were never touched end the kernel's copy) is still there
// some milliseconds later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "src/observe/proc/process_memory.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

class SampleMemory final : public StackMemory {
 public:
  // `copy` lies at `stack_pointer` in the process `pid`.
  SampleMemory(int pid, std::uint64_t stack_pointer, std::span<const std::byte> copy,
               ProcessMemory& living)
      : pid_(pid), begin_(stack_pointer), copy_(copy), living_(living) {}

  bool word(std::uint64_t address, std::uint64_t& value) override;
  bool read(std::uint64_t address, std::span<std::byte> to) override;

 private:
  using Page = std::vector<std::byte>;  // empty: it cannot be read
  const Page* page(std::uint64_t address);

  int pid_;
  std::uint64_t begin_;
  std::span<const std::byte> copy_;
  ProcessMemory& living_;
  std::map<std::uint64_t, Page> pages_;  // by address
};

}  // namespace hwprof::observe
