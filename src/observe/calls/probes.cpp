#include "src/observe/calls/probes.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "src/base/text.h"

namespace hwprof::observe {
namespace {

// Where the integer arguments are, as the parser names it, return address and stack pointer.
#if defined(__aarch64__)
constexpr std::array<const char*, 7> kArguments = {"%x0", "%x1", "%x2", "%x3", "%x4", "%x5", "%x6"};
constexpr const char* kReturnAddress = "%x30";
#else
constexpr std::array<const char*, 7> kArguments = {"%di", "%si", "%dx",    "%cx",
                                                   "%r8", "%r9", "+8(%sp)"};
constexpr const char* kReturnAddress = "+0(%sp)";
#endif

// `otherwise` where the routine has no such argument.
std::string fetch(int position, bool by_reference, int otherwise) {
  if (position < 0) return fmt::format("\\{}", otherwise);
  const char* argument = kArguments.at(static_cast<std::size_t>(position));
  return by_reference ? fmt::format("+0({})", argument) : argument;
}

// 0 where the raw data ends before it.
std::uint64_t value_of(std::span<const std::byte> raw, const EventField& field) {
  std::uint64_t value = 0;
  const std::size_t size = field.size == sizeof value ? sizeof value : sizeof(std::uint32_t);
  if (field.offset + size <= raw.size()) std::memcpy(&value, &raw[field.offset], size);
  return value;
}

long dimension_of(std::span<const std::byte> raw, const EventField& field) {
  const std::uint64_t value = value_of(raw, field);
  return field.size == sizeof value ? static_cast<long>(value) : static_cast<std::int32_t>(value);
}

unsigned char letter_of(std::span<const std::byte> raw, const EventField& field) {
  return field.size == 1 && field.offset < raw.size()
             ? std::to_integer<unsigned char>(raw[field.offset])
             : 0;
}

}  // namespace

std::string probe_definition(std::string_view group, std::string_view event, EventKind kind, int fd,
                             const EntryPoint& entry, std::uint32_t id) {
  const bool leaves = kind == EventKind::kReturn;
  std::string line = fmt::format("{}:{}/{} /proc/self/fd/{}:{:#x} id=\\{}:u32", leaves ? 'r' : 'p',
                                 group, event, fd, entry.offset, id);
  if (leaves) return line;
  const Routine& routine = entry.routine;
  const char* type = kind == EventKind::kWideEntry ? "u64" : "u32";
  line += fmt::format(" ret={}:u64 sp=%sp:u64", kReturnAddress);
  const auto add = [&](const char* name, int position, int otherwise, const char* of_type) {
    line +=
        fmt::format(" {}={}:{}", name, fetch(position, routine.by_reference, otherwise), of_type);
  };
  add("layout", routine.layout ? 0 : -1, 0, "u8");
  add("side", routine.side, 0, "u8");
  add("ta", routine.transpose_a, 0, "u8");
  add("tb", routine.transpose_b, 0, "u8");
  add("m", routine.m, 1, type);
  add("n", routine.n, 1, type);
  add("k", routine.k, 1, type);
  return line;
}

std::optional<EventFormat> parse_event_format(std::string_view text) {
  EventFormat format;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("ID: ")) {
      format.type = static_cast<unsigned>(parse_unsigned(trim(line.substr(4))).value_or(0));
    }
    // "\tfield:u32 id;\toffset:16;\tsize:4;\tsigned:0;"
    const auto parts = split(trim(line), ';');
    if (parts.size() < 3 || !parts[0].starts_with("field:")) continue;
    const auto name = parts[0].substr(parts[0].rfind(' ') + 1);
    const auto number = [](std::string_view part) {
      return static_cast<unsigned>(
          parse_unsigned(trim(part.substr(part.find(':') + 1))).value_or(0));
    };
    const EventField field{number(parts[1]), number(parts[2])};
    if (name == "id") format.id = field;
    if (name == "ret") format.ret = field;
    if (name == "sp") format.sp = field;
    if (name == "layout") format.layout = field;
    if (name == "side") format.side = field;
    if (name == "ta") format.transpose_a = field;
    if (name == "tb") format.transpose_b = field;
    if (name == "m") format.m = field;
    if (name == "n") format.n = field;
    if (name == "k") format.k = field;
    if (name == "__probe_ret_ip") format.leaves = true;
  }
  if (format.type == 0 || format.id.size != 4) return std::nullopt;
  return format;
}

std::optional<ProbeHit> decode_hit(const Sample& sample, std::uint64_t time_ns,
                                   const std::vector<EventFormat>& formats) {
  std::uint16_t type = 0;
  if (sample.raw.size() < sizeof type) return std::nullopt;
  std::memcpy(&type, sample.raw.data(), sizeof type);
  for (const EventFormat& format : formats) {
    if (format.type != type) continue;
    ProbeHit hit{.leaves = format.leaves,
                 .time_ns = time_ns,
                 .pid = sample.pid,
                 .tid = sample.tid,
                 .id = static_cast<std::uint32_t>(value_of(sample.raw, format.id))};
    if (format.leaves) return hit;
    hit.return_address = value_of(sample.raw, format.ret);
    hit.stack_pointer = value_of(sample.raw, format.sp);
    hit.layout = letter_of(sample.raw, format.layout);
    hit.side = letter_of(sample.raw, format.side);
    hit.transpose_a = letter_of(sample.raw, format.transpose_a);
    hit.transpose_b = letter_of(sample.raw, format.transpose_b);
    hit.m = dimension_of(sample.raw, format.m);
    hit.n = dimension_of(sample.raw, format.n);
    hit.k = dimension_of(sample.raw, format.k);
    return hit;
  }
  return std::nullopt;
}

bool shape_of(const Routine& routine, const ProbeHit& hit, Shape& shape) {
  const auto letter = [&](signed char position, unsigned char& value) {
    value = position == routine.side          ? hit.side
            : position == routine.transpose_a ? hit.transpose_a
            : position == routine.transpose_b ? hit.transpose_b
                                              : hit.layout;
    return true;
  };
  const auto dimension = [&](signed char position, long& value) {
    value = position == routine.m ? hit.m : position == routine.n ? hit.n : hit.k;
    return true;
  };
  return read_shape(routine, letter, dimension, shape);
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

bool return_probes_are_safe(std::string_view release) {
#if defined(__x86_64__)
  const auto dot = release.find('.');
  if (dot == std::string_view::npos) return false;
  const auto rest = release.substr(dot + 1);
  const auto major = parse_unsigned(release.substr(0, dot));
  const auto minor = parse_unsigned(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!major || !minor) return false;
  const std::pair version(*major, *minor);
  using Version = std::pair<std::uint64_t, std::uint64_t>;
  return version < Version(6, 11) || version >= Version(6, 14);
#else
  return !release.empty();
#endif
}

bool timing_costs_too_much(std::uint64_t returns, std::chrono::nanoseconds elapsed) {
  constexpr double kFree = 10'000, kEachSecond = 5'000;
  return static_cast<double>(returns) >
         kFree + kEachSecond * std::chrono::duration<double>(elapsed).count();
}

bool recording_costs_too_much(std::uint64_t calls, std::chrono::nanoseconds elapsed) {
  constexpr double kFree = 20'000, kEachSecond = 5'000;
  return static_cast<double>(calls) >
         kFree + kEachSecond * std::chrono::duration<double>(elapsed).count();
}

}  // namespace hwprof::observe
