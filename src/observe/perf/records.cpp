#include "src/observe/perf/records.h"

#include <asm/perf_regs.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

namespace hwprof::observe {
namespace {

// Reads from the front; once something was missing everything is.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T take() {
    T value{};
    if (rest_.size() < sizeof value) {
      complete_ = false;
      rest_ = {};
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  // Up to its zero; the padding behind it does not matter.
  std::string take_text() {
    const auto end = std::find(rest_.begin(), rest_.end(), std::byte{0});
    if (end == rest_.end()) complete_ = false;
    std::string text;
    std::transform(rest_.begin(), end, std::back_inserter(text),
                   [](std::byte byte) { return static_cast<char>(byte); });
    return text;
  }
  std::vector<std::byte> take_bytes(std::size_t count) {
    if (count > rest_.size()) {
      complete_ = false;
      return {};
    }
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return {bytes.begin(), bytes.end()};
  }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  std::span<const std::byte> rest_;
  bool complete_ = true;
};

// Behind every record but samples (sample_id_all): pid and tid, time, event, as the type has them.
std::size_t trailer_bytes(std::uint64_t sample_type) {
  constexpr std::uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
  return sizeof(std::uint64_t) * static_cast<std::size_t>(std::popcount(sample_type & kFields));
}

// Entries of a call chain from here on are marks (PERF_CONTEXT_USER, ...), no addresses.
constexpr auto kFirstContext = static_cast<std::uint64_t>(PERF_CONTEXT_MAX);

// The kernel writes whole 64-bit words.
bool possible(const perf_event_header& header, std::uint64_t available) {
  return header.size >= sizeof header && header.size <= available &&
         header.size % sizeof(std::uint64_t) == 0;
}

// Bytes, and behind them how many of them were there to be copied.
void take_stack(Reader& reader, Sample& sample) {
  const auto size = reader.take<std::uint64_t>();
  if (size == 0) return;
  sample.stack = reader.take_bytes(size);
  const auto copied = reader.take<std::uint64_t>();
  sample.stack.resize(std::min<std::uint64_t>(sample.stack.size(), copied));
  if (sample.stack.size() >= sizeof sample.stack_top)
    std::memcpy(&sample.stack_top, sample.stack.data(), sizeof sample.stack_top);
}

void take_registers(Reader& reader, Sample& sample, std::uint64_t mask) {
  const auto abi = reader.take<std::uint64_t>();
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
  const bool all = abi == PERF_SAMPLE_REGS_ABI_64 && std::popcount(mask) > 1;
  for (; mask != 0 && reader.complete(); mask &= mask - 1) {
    const auto value = reader.take<std::uint64_t>();
    if (all) sample.registers.push_back(value);
    if ((mask & -mask) == kUserIpRegister) sample.user_ip = value;
  }
}

// The fields stand in this order, whichever of them there are.
Record read_sample(Reader& reader, std::uint16_t misc, std::uint64_t sample_type,
                   std::uint64_t registers) {
  Record record;
  Sample sample;
  sample.in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if ((sample_type & PERF_SAMPLE_IP) != 0) sample.ip = reader.take<std::uint64_t>();
  sample.pid = reader.take<std::int32_t>();
  sample.tid = reader.take<std::int32_t>();
  record.time_ns = reader.take<std::uint64_t>();
  if ((sample_type & PERF_SAMPLE_ID) != 0) sample.event = reader.take<std::uint64_t>();
  if ((sample_type & PERF_SAMPLE_CALLCHAIN) != 0) {
    auto entries = reader.take<std::uint64_t>();
    bool first = true;  // of the chain is the ip itself
    for (; entries > 0 && reader.complete(); --entries) {
      const auto address = reader.take<std::uint64_t>();
      if (address >= kFirstContext || !reader.complete()) continue;
      if (!first || address != sample.ip) sample.callers.push_back(address);
      first = false;
    }
  }
  if ((sample_type & PERF_SAMPLE_RAW) != 0) {
    sample.raw = reader.take_bytes(reader.take<std::uint32_t>());
  }
  if ((sample_type & kUserIp) != 0) take_registers(reader, sample, registers);
  if ((sample_type & kStackTop) != 0) take_stack(reader, sample);
  record.body = std::move(sample);
  return record;
}

Mapped read_mapped(Reader& reader) {
  Mapped mapped;
  mapped.pid = reader.take<std::int32_t>();
  reader.take<std::int32_t>();  // tid
  mapped.start = reader.take<std::uint64_t>();
  mapped.length = reader.take<std::uint64_t>();
  mapped.offset = reader.take<std::uint64_t>();
  mapped.file.major = reader.take<std::uint32_t>();
  mapped.file.minor = reader.take<std::uint32_t>();
  mapped.file.inode = reader.take<std::uint64_t>();
  mapped.generation = reader.take<std::uint64_t>();
  const auto protection = reader.take<std::uint32_t>();
  const auto flags = reader.take<std::uint32_t>();
  mapped.takes_probes = (protection & PROT_WRITE) == 0 && (flags & MAP_TYPE) != MAP_SHARED;
  mapped.path = reader.take_text();
  mapped.deleted = take_deleted_mark(mapped.path);
  return mapped;
}

Forked read_forked(Reader& reader) {
  Forked forked;
  forked.pid = reader.take<std::int32_t>();
  forked.parent_pid = reader.take<std::int32_t>();
  forked.tid = reader.take<std::int32_t>();
  return forked;
}

Named read_named(Reader& reader, std::uint16_t misc) {
  Named named;
  named.pid = reader.take<std::int32_t>();
  named.tid = reader.take<std::int32_t>();
  named.by_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  named.name = reader.take_text();
  return named;
}

Exited read_exited(Reader& reader) {
  Exited exited;
  exited.pid = reader.take<std::int32_t>();
  reader.take<std::int32_t>();  // parent
  exited.tid = reader.take<std::int32_t>();
  return exited;
}

Lost read_lost(Reader& reader) {
  reader.take<std::uint64_t>();  // id
  return {reader.take<std::uint64_t>()};
}

void copy_out(std::span<const std::byte> ring, std::uint64_t position, std::span<std::byte> to) {
  const auto from = static_cast<std::size_t>(position % ring.size());
  const std::size_t first = std::min(to.size(), ring.size() - from);
  std::memcpy(to.data(), &ring[from], first);
  if (first < to.size()) std::memcpy(&to[first], ring.data(), to.size() - first);
}

}  // namespace

#if defined(__x86_64__)
const std::uint64_t kUserIpRegister = std::uint64_t{1} << PERF_REG_X86_IP;
// ax, bx, cx, dx, si, di, bp, sp, ip, and r8 to r15
const std::uint64_t kUnwindRegisters =
    ((std::uint64_t{1} << (PERF_REG_X86_IP + 1)) - 1) | (std::uint64_t{0xff} << PERF_REG_X86_R8);
#else
const std::uint64_t kUserIpRegister = std::uint64_t{1} << PERF_REG_ARM64_PC;
const std::uint64_t kUnwindRegisters = 0;
#endif

bool take_deleted_mark(std::string& path) {
  constexpr std::string_view kMark = " (deleted)";
  if (!path.starts_with('/') || !path.ends_with(kMark)) return false;
  path.resize(path.size() - kMark.size());
  return true;
}

std::optional<Record> parse_record(std::span<const std::byte> bytes, std::uint64_t sample_type,
                                   std::uint64_t registers) {
  perf_event_header header{};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!possible(header, bytes.size())) return std::nullopt;
  auto body = bytes.subspan(sizeof header, header.size - sizeof header);

  Record record;
  if (header.type == PERF_RECORD_SAMPLE) {
    Reader reader(body);
    record = read_sample(reader, header.misc, sample_type, registers);
    return reader.complete() ? std::optional(std::move(record)) : std::nullopt;
  }
  const std::size_t trailer_size = trailer_bytes(sample_type);
  if (body.size() < trailer_size) return std::nullopt;
  Reader trailer(body.last(trailer_size));
  trailer.take<std::uint64_t>();  // pid, tid
  record.time_ns = trailer.take<std::uint64_t>();
  Reader reader(body.first(body.size() - trailer_size));
  switch (header.type) {
    case PERF_RECORD_MMAP2:
      record.body = read_mapped(reader);
      break;
    case PERF_RECORD_FORK:
      record.body = read_forked(reader);
      break;
    case PERF_RECORD_COMM:
      record.body = read_named(reader, header.misc);
      break;
    case PERF_RECORD_EXIT:
      record.body = read_exited(reader);
      break;
    case PERF_RECORD_LOST:
      record.body = read_lost(reader);
      break;
    case PERF_RECORD_THROTTLE:
      record.body = Throttled{};
      break;
    default:
      return std::nullopt;
  }
  return reader.complete() ? std::optional(std::move(record)) : std::nullopt;
}

RingContent parse_ring(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                       std::uint64_t sample_type, std::uint64_t registers) {
  RingContent content;
  std::vector<std::byte> bytes;
  while (tail < head) {
    perf_event_header header{};
    if (head - tail < sizeof header || ring.empty() || head - tail > ring.size()) {
      content.broken = true;
      break;
    }
    copy_out(ring, tail, std::as_writable_bytes(std::span(&header, 1)));
    if (!possible(header, head - tail)) {
      content.broken = true;
      break;
    }
    bytes.resize(header.size);
    copy_out(ring, tail, bytes);
    if (auto record = parse_record(bytes, sample_type, registers)) {
      content.records.push_back(std::move(*record));
    }
    tail += header.size;
  }
  return content;
}

}  // namespace hwprof::observe
