// What the unwinder asks of the code of one process, from the files that its samples are in.
#pragma once

#include <cstdint>

#include "src/observe/proc/address_space.h"
#include "src/observe/samples/images.h"
#include "src/observe/unwind/unwinder.h"

namespace hwprof::observe {

class SampledCode final : public UnwindCode {
 public:
  SampledCode(int pid, const AddressSpaces& spaces, Images& images, StackMemory& memory)
      : pid_(pid), spaces_(spaces), images_(images), memory_(memory) {}

  const UnwindRow* row(std::uint64_t address) override;
  bool follows_call(std::uint64_t address) override;
  bool is_entry(std::uint64_t address) override;
  bool is_generated(std::uint64_t address) override;
  bool is_return_probe(std::uint64_t address) override;

 private:
  int pid_;
  const AddressSpaces& spaces_;
  Images& images_;
  StackMemory& memory_;
};

}  // namespace hwprof::observe
