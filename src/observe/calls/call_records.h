// What the ring buffers of the uprobes hold, decoded: calls entered and left, files mapped, and how
// processes come and go. Pure: bytes in, records out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/observe/calls/tracefs.h"

namespace hwprof::observe {

struct CallRecord {
  enum class Kind { kEnter, kLeave, kMap, kFork, kExec, kExit };
  Kind kind = Kind::kEnter;
  std::uint64_t time_ns = 0;
  pid_t pid = 0, tid = 0;
  pid_t parent = 0;         // kFork
  std::uint64_t event = 0;  // whose record it is, as PERF_EVENT_IOC_ID names it
  bool sample = false;      // 1 of many, not one of all
  // kEnter, kLeave
  std::uint32_t id = 0;  // of the probe
  std::uint64_t return_address = 0, stack_pointer = 0;
  std::uint64_t m = 0, n = 0, k = 0;
  // kMap: code of a file
  std::uint64_t start = 0, length = 0, file_offset = 0;
  std::string path;
};

// One record of a ring: all events have the sample type that kCallSampleType names, and
// sample_id_all. Absent for records that say nothing of calls.
extern const std::uint64_t kCallSampleType;
std::optional<CallRecord> decode_call_record(std::span<const std::byte> record,
                                             const std::vector<EventFormat>& formats);

}  // namespace hwprof::observe
