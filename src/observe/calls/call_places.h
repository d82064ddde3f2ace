// Where the threads of long calls stood: from the table's addresses and names to lines of Python
// and regions. The watched program may have written anything there, at any time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/stacks.h"
#include "src/observe/audit/table.h"
#include "src/observe/routines/call_stacks.h"

namespace hwprof::observe {

struct KnownPlace {
  std::uint32_t region = 0;   // by its number; 0: none was open
  std::uint32_t stack = 0;    // of CallStacks; 0: none
  bool whole = false;         // nothing is around the stack
  bool read = false;          // the thread had frames of Python
  std::uint32_t process = 0;  // 0: not known
};

class CallPlaces {
 public:
  void read_stacks_by(CallStacks stacks) { stacks_ = std::move(stacks); }
  // While the process lives.
  KnownPlace place(const audit::CallPlace& written);

  void describe(const KnownPlace& place, report::TraceSpan& span) const;
  // Why some of these have no line of Python; "": all have one.
  [[nodiscard]] std::string why_no_lines(const std::vector<KnownPlace>& places) const;

 private:
  std::uint32_t region_number(std::string_view path);

  CallStacks stacks_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of regions
  std::vector<std::string> regions_;                           // by number - 1
};

}  // namespace hwprof::observe
