#include "src/observe/calls/call_records.h"

#include <linux/perf_event.h>

#include <cstring>

namespace hwprof::observe {

const std::uint64_t kCallSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_RAW;

namespace {

// Values at places in a record; outside of it everything is 0.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes_.size()) {
      std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    }
    return value;
  }
  [[nodiscard]] std::uint64_t field(std::size_t base, const EventField& field) const {
    return field.size == 8 ? at<std::uint64_t>(base + field.offset)
                           : at<std::uint32_t>(base + field.offset);
  }
  [[nodiscard]] std::string text(std::size_t offset, std::size_t end) const {
    if (offset >= end || end > bytes_.size()) return {};
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    return {begin, ::strnlen(begin, end - offset)};
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

// A dimension is a signed integer, and a call with a negative one multiplies nothing.
std::uint64_t dimension(const Bytes& bytes, std::size_t raw, const EventField& field) {
  const std::uint64_t value = bytes.field(raw, field);
  const std::uint64_t largest = field.size == 8 ? INT64_MAX : INT32_MAX;
  return value <= largest ? value : 0;
}

// struct { header; u32 pid, tid; u64 time, id; u32 raw_size; char raw[] }
std::optional<CallRecord> decode_sample(const Bytes& bytes,
                                        const std::vector<EventFormat>& formats) {
  constexpr std::size_t kRaw = 36;
  const auto type = bytes.at<std::uint16_t>(kRaw);
  for (const EventFormat& format : formats) {
    if (format.type != type) continue;
    CallRecord record;
    record.kind = format.leaves ? CallRecord::Kind::kLeave : CallRecord::Kind::kEnter;
    record.pid = bytes.at<pid_t>(8);
    record.tid = bytes.at<pid_t>(12);
    record.time_ns = bytes.at<std::uint64_t>(16);
    record.event = bytes.at<std::uint64_t>(24);
    record.id = static_cast<std::uint32_t>(bytes.field(kRaw, format.id));
    if (!format.leaves) {
      record.return_address = bytes.field(kRaw, format.ret);
      record.stack_pointer = bytes.field(kRaw, format.sp);
      record.m = dimension(bytes, kRaw, format.m);
      record.n = dimension(bytes, kRaw, format.n);
      record.k = dimension(bytes, kRaw, format.k);
    }
    return record;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CallRecord> decode_call_record(std::span<const std::byte> record,
                                             const std::vector<EventFormat>& formats) {
  using Kind = CallRecord::Kind;
  const Bytes bytes(record);
  const auto header = bytes.at<perf_event_header>(0);
  if (header.type == PERF_RECORD_SAMPLE) return decode_sample(bytes, formats);
  // All others end in sample_id: { u32 pid, tid; u64 time, id }.
  constexpr std::size_t kSampleId = 24;
  if (record.size() < sizeof(header) + kSampleId) return std::nullopt;
  CallRecord found;
  found.pid = bytes.at<pid_t>(8);
  found.tid = bytes.at<pid_t>(12);
  found.time_ns = bytes.at<std::uint64_t>(record.size() - 16);
  switch (header.type) {
    case PERF_RECORD_MMAP2:
      found.kind = Kind::kMap;
      found.start = bytes.at<std::uint64_t>(16);
      found.length = bytes.at<std::uint64_t>(24);
      found.file_offset = bytes.at<std::uint64_t>(32);
      found.path = bytes.text(72, record.size() - kSampleId);
      return found;
    case PERF_RECORD_FORK:  // { pid, ppid, tid, ptid, time }
    case PERF_RECORD_EXIT:
      found.kind = header.type == PERF_RECORD_FORK ? Kind::kFork : Kind::kExit;
      found.parent = bytes.at<pid_t>(12);
      found.tid = bytes.at<pid_t>(16);
      return found;
    case PERF_RECORD_COMM:
      if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) == 0) return std::nullopt;
      found.kind = Kind::kExec;
      return found;
    default:
      return std::nullopt;
  }
}

}  // namespace hwprof::observe
