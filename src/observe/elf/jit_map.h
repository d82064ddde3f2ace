// Names of generated code, as run-time compilers write them for perf into /tmp/perf-PID.map:
// "start size name" a line, hexadecimal (tools/perf/Documentation/jit-interface.txt).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace hwprof::observe {

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
