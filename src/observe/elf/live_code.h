// Code that stands in no file (generated at run time, or in a file that is gone): copied from the
// living process while samples come in, since nothing is left of it afterwards.
#pragma once

#include <cstdint>
#include <map>

#include "src/observe/elf/symbols.h"

namespace hwprof::observe {

class LiveCode {
 public:
  static constexpr std::uint64_t kWindowBytes = 64U << 10U;

  // Copies the window around `address` and its neighbours within [start, end), each once: a sample
  // costs nothing more when it has been seen. A window in which the generator had not yet written
  // what is executed now is read again, a few times. False when the process does not let us.
  bool read(int pid, std::uint64_t address, std::uint64_t start, std::uint64_t end);

  // What was copied around `address`, without gaps; empty when nothing was.
  [[nodiscard]] CodeBytes around(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Window {
    std::uint64_t address = 0;  // where the copy begins: windows are cut at the mapping's ends
    std::vector<std::byte> bytes;
    int reads = 0;
  };
  bool read_window(int pid, std::uint64_t index, std::uint64_t start, std::uint64_t end);
  [[nodiscard]] bool is_blank_at(const Window& window, std::uint64_t address) const;

  std::map<std::uint64_t, Window> windows_;  // by address / kWindowBytes
  std::uint64_t bytes_ = 0;
};

}  // namespace hwprof::observe
