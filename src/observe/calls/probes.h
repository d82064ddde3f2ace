// A probe on a BLAS routine: the line that defines it (Documentation/trace/uprobetracer.rst), what
// the kernel records when it is hit, and what that may cost the program that is watched. Pure.
//
// Several probes may be one event (Linux 5.5): their arguments have the same names and types, and a
// constant says which of them was hit. Events count, not probes: each is opened once for every CPU.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/observe/calls/routine_file.h"
#include "src/observe/perf/records.h"
#include "src/observe/routines/call_shape.h"

namespace hwprof::observe {

enum class EventKind : std::uint32_t { kEntry, kWideEntry, kReturn };
inline constexpr std::string_view kEventNames[] = {"entry", "wide_entry", "leave"};

// Line that defines a probe. The file is named by a descriptor of this process: no byte of a path
// that somebody else chose reaches the parser, and it is the file whose symbols were read.
std::string probe_definition(std::string_view group, std::string_view event, EventKind kind, int fd,
                             const EntryPoint& entry, std::uint32_t id);

// Where the fields of an event lie in its raw data; a size of 0 is a field that it does not have.
struct EventField {
  unsigned offset = 0, size = 0;
};
struct EventFormat {
  unsigned type = 0;  // number of the tracepoint, first 16 bits of the raw data
  bool leaves = false;
  EventField id, ret, sp, layout, side, transpose_a, transpose_b, m, n, k;
};
// From the text of the file `format`; absent when it lacks the field "id".
std::optional<EventFormat> parse_event_format(std::string_view text);

struct ProbeHit {  // a routine was entered or left
  bool leaves = false;
  std::uint64_t time_ns = 0;
  pid_t pid = 0, tid = 0;
  std::uint32_t id = 0;  // of the probe
  // Of those entered:
  std::uint64_t return_address = 0, stack_pointer = 0;
  unsigned char layout = 0, side = 0, transpose_a = 0, transpose_b = 0;
  long m = 0, n = 0, k = 0;
};
// Absent for a sample of none of these events.
std::optional<ProbeHit> decode_hit(const Sample& sample, std::uint64_t time_ns,
                                   const std::vector<EventFormat>& formats);

// False: the call has none, or one that no BLAS would take.
bool shape_of(const Routine& routine, const ProbeHit& hit, Shape& shape);

// Whether a return probe is safe on this kernel. Since 6.11 they enter the kernel of x86-64 by a
// system call, which a seccomp filter that does not know it answers with a kill; 6.14 lets it pass.
// Whether a program will install such a filter cannot be known before.
bool return_probes_are_safe(std::string_view kernel_release);
// Of this kernel; "" where it does not tell.
std::string kernel_release();

// A return costs the program about 2 us: a few thousand a second (1 %) are nothing, and tell the
// rate of every product that is long enough to have one. A program that makes more, small ones, is
// spared.
bool timing_costs_too_much(std::uint64_t returns, std::chrono::nanoseconds elapsed);

// What a watched call costs the program, in ns: recorded, its return, counted only; and by the
// audit library.
inline constexpr double kRecordNs = 3000, kReturnNs = 2000, kCountNs = 700, kAuditNs = 60,
                        kPrimitiveNs = 170, kTransformNs = 80;

// So does the record of a call, and less to be counted only.
bool recording_costs_too_much(std::uint64_t calls, std::chrono::nanoseconds elapsed);
// A prime: programs repeat their calls in patterns, and a period that divides the length of one
// would meet the same call again and again.
inline constexpr std::uint64_t kSamplePeriod = 61;

}  // namespace hwprof::observe
