// Code that stands in no file (generated at run time, or in a file that is gone): its bytes, copied
// from the living process while samples come in, since nothing is left of it afterwards; and its
// names, as run-time compilers write them for perf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
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

// /tmp/perf-PID.map: "start size name" a line, hexadecimal
// (tools/perf/Documentation/jit-interface.txt).
class JitMap {
 public:
  static JitMap parse(std::string_view text);
  // Anyone may put a file into /tmp: only one that the observed user or root owns and that is no
  // symbolic link is believed. ENOENT where there is none.
  static Result<JitMap> load(const std::string& path, unsigned observed_user);

  [[nodiscard]] std::string symbol(std::uint64_t address) const;  // "" none
  [[nodiscard]] bool empty() const { return functions_.empty(); }

 private:
  struct Function {
    std::uint64_t size = 0;
    std::string name;
  };
  std::map<std::uint64_t, Function> functions_;  // by start
};

}  // namespace hwprof::observe
