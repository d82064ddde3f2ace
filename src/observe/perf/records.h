// The one decoder of what the kernel writes into a ring: perf_event_open(2), "MMAP layout". Pure:
// tested on bytes, without a kernel that would have to produce the rare ones.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace hwprof::observe {

// Which file a mapping is of, whatever its name says by now.
struct FileId {
  std::uint32_t major = 0, minor = 0;
  std::uint64_t inode = 0;

  auto operator<=>(const FileId&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct Sample {  // has what its sample type names
  int pid = 0, tid = 0;
  std::uint64_t ip = 0;
  bool in_kernel = false;
  std::uint64_t user_ip = 0;  // of a sample with it: where its program stands; 0: nowhere
  // Of a sample with it, what lies on top of the program's stack: of a function that pushes nothing
  // the address that it returns to.
  std::uint64_t stack_top = 0;
  // Of a sample with more than one register in its mask: all of them, in the order of their bits.
  // Empty where there is no program, or a 32-bit one.
  std::vector<std::uint64_t> registers;
  std::vector<std::byte> stack;        // with kStackTop: what was there, from the stack pointer on
  std::vector<std::uint64_t> callers;  // return addresses, innermost first, without the ip
  std::uint64_t event = 0;             // whose record it is, as PERF_EVENT_IOC_ID names it
  std::vector<std::byte> raw;          // of a tracepoint: its fields
};
struct Mapped {  // executable memory
  int pid = 0;
  std::uint64_t start = 0, length = 0, offset = 0;
  FileId file;
  std::string path;
  bool deleted = false;  // the file is no longer there
  // Of the inode: another file that gets its number has another one, on most file systems. 0: not
  // known.
  std::uint64_t generation = 0;
  // Private, and not writable: the kernel sets no uprobe in others (valid_vma() of its uprobes.c).
  bool takes_probes = true;
};
struct Forked {  // a thread when both are of one process
  int pid = 0, parent_pid = 0, tid = 0;
};
struct Named {
  int pid = 0, tid = 0;
  bool by_exec = false;
  std::string name;
};
struct Exited {
  int pid = 0, tid = 0;
};
struct Lost {
  std::uint64_t records = 0;
};
struct Throttled {};  // the kernel found that sampling took too long, and paused it

struct Record {
  std::uint64_t time_ns = 0;  // 0 when the record has none
  std::variant<Sample, Mapped, Forked, Named, Exited, Lost, Throttled> body;
};

// Takes " (deleted)" off, with which the kernel marks the path of a file that is gone, here and in
// /proc/PID/maps.
bool take_deleted_mark(std::string& path);

// perf_event_attr.sample_type, with sample_id_all: instructions hit, with the callers, and probes.
inline constexpr std::uint64_t kInstructionHits =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
inline constexpr std::uint64_t kStackHits = kInstructionHits | PERF_SAMPLE_CALLCHAIN;
// With it: where the program stands that is inside the kernel. The one register of the mask
// (perf_event_attr.sample_regs_user), or one of those that unwinding takes.
inline constexpr std::uint64_t kUserIp = PERF_SAMPLE_REGS_USER;
extern const std::uint64_t kUserIpRegister;
extern const std::uint64_t kUnwindRegisters;  // 0: none are asked for on this kind of CPU
inline constexpr std::uint64_t kStackTop = PERF_SAMPLE_STACK_USER;
inline constexpr std::uint32_t kStackTopBytes = 8;      // perf_event_attr.sample_stack_user
inline constexpr std::uint32_t kStackCopyBytes = 8192;  // of it, to unwind
// Of an inherited event: the events of a task stay its own. Else the kernel exchanges, at a context
// switch, those of two tasks that have inherited the same ones (kernel/events/core.c,
// perf_event_context_sched_out). Before Linux 6.12 it is refused there (EINVAL).
inline constexpr std::uint64_t kKeepsEvents = PERF_SAMPLE_READ;
inline constexpr std::uint64_t kProbeHits =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_RAW;

// One record with its header, absent for kinds that nobody here reads and for truncated ones.
// `sample_type` is one of those above, with or without kUserIp and kStackTop; `registers` the mask
// of kUserIp.
std::optional<Record> parse_record(std::span<const std::byte> bytes, std::uint64_t sample_type,
                                   std::uint64_t registers = kUserIpRegister);

// All records of a ring between two positions that only ever grow; records may go round its end.
struct RingContent {
  std::vector<Record> records;
  bool broken = false;  // a header that cannot be: the rest was given up
};
RingContent parse_ring(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                       std::uint64_t sample_type, std::uint64_t registers = kUserIpRegister);

}  // namespace hwprof::observe
