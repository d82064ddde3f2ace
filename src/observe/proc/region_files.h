// Regions that a program makes through libhwprof: each of its processes leaves a report in a file,
// when it ends, and here they are found and read. A program without regions leaves none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/regions_record.h"
#include "src/observe/proc/private_folder.h"

namespace hwprof {

class RegionFiles {
 public:
  // In a private folder, which goes with this object. Where the environment has HWPROF_REGIONS
  // already, that is left as it is, and read. `trace`: each process leaves a trace of its calls,
  // too.
  static Result<RegionFiles> prepare(bool trace);
  [[nodiscard]] std::vector<std::string> environment() const;  // NAME=value for the command
  // Of each process, once they have ended; what could not be read is a note of its own.
  [[nodiscard]] std::vector<report::Regions> read() const;

  struct Trace {
    std::string json;
    std::uint64_t calls = 0, dropped = 0;
  };
  // Those of all processes in one, which a viewer keeps apart; absent where there is none.
  [[nodiscard]] std::optional<Trace> trace() const;

 private:
  RegionFiles() = default;

  std::optional<PrivateFolder> folder_;
  std::string pattern_;        // value of HWPROF_REGIONS
  bool own_pattern_ = true;    // false: the user's
  std::string trace_pattern_;  // value of HWPROF_TRACE; empty: no trace
  // Files that were there before, and when they were written.
  std::map<std::filesystem::path, std::filesystem::file_time_type> before_;
};

// The contract hwprof.regions/1 as rows. Fault::kUsage says why `text` is none.
Result<report::Regions> parse_regions(const std::string& text);

}  // namespace hwprof
