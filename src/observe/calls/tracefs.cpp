#include "src/observe/calls/tracefs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "src/base/text.h"

namespace hwprof::observe {
namespace {

// Registers of the integer arguments, as the parser names them, return address and stack pointer.
#if defined(__aarch64__)
constexpr std::array<const char*, 6> kArguments = {"%x0", "%x1", "%x2", "%x3", "%x4", "%x5"};
constexpr const char* kReturnAddress = "%x30";
#else
constexpr std::array<const char*, 6> kArguments = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
constexpr const char* kReturnAddress = "+0(%sp)";
#endif

std::string dimension(int position, bool by_reference) {
  if (position < 0) return "\\1";
  const char* argument = kArguments.at(static_cast<std::size_t>(position));
  return by_reference ? fmt::format("+0({})", argument) : argument;
}

// Field 22 of /proc/PID/stat: when it was started, in ticks since boot. The name before it may
// hold blanks and brackets.
std::optional<std::uint64_t> start_time(std::string_view pid) {
  const auto text = read_text_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const auto bracket = text->rfind(')');
  if (bracket == std::string::npos || bracket + 2 > text->size()) return std::nullopt;
  const auto fields = split(std::string_view(*text).substr(bracket + 2), ' ');
  return fields.size() > 19 ? parse_unsigned(fields[19]) : std::nullopt;
}

// Process numbers mean something only within one.
std::uint64_t pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool is_dead(std::string_view group) {
  const auto parts = split(group, '_');
  if (parts.size() != 5 || parts[0] != "hwprof") return false;
  const auto pid = parse_unsigned(parts[1]);
  const auto started = parse_unsigned(parts[2]);
  if (!pid || !started || parse_unsigned(parts[3]) != pid_namespace()) return false;
  return start_time(parts[1]) != started;
}

UniqueFd private_mount() {
  UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context.valid() ||
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return {};
  }
  return UniqueFd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

}  // namespace

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
    if (name == "m") format.m = field;
    if (name == "n") format.n = field;
    if (name == "k") format.k = field;
    if (name == "__probe_ret_ip") format.leaves = true;
  }
  if (format.type == 0 || format.id.size != 4) return std::nullopt;
  return format;
}

std::string probe_definition(std::string_view group, std::string_view event, EventKind kind, int fd,
                             const EntryPoint& entry, std::uint32_t id) {
  const bool leaves = kind == EventKind::kReturn;
  std::string line = fmt::format("{}:{}/{} /proc/self/fd/{}:{:#x} id=\\{}:u32", leaves ? 'r' : 'p',
                                 group, event, fd, entry.offset, id);
  if (leaves) return line;
  const Routine& routine = entry.routine;
  const char* type = kind == EventKind::kWideEntry ? "u64" : "u32";
  line += fmt::format(" ret={}:u64 sp=%sp:u64", kReturnAddress);
  line += fmt::format(" m={}:{}", dimension(routine.m, routine.by_reference), type);
  line += fmt::format(" n={}:{}", dimension(routine.n, routine.by_reference), type);
  line += fmt::format(" k={}:{}", dimension(routine.k, routine.by_reference), type);
  return line;
}

std::string new_group_name() {
  const std::string pid = std::to_string(::getpid());
  const auto started = start_time(pid);
  std::uint32_t random = 0;
  if (!started || ::getrandom(&random, sizeof(random), 0) != sizeof(random)) return {};
  return fmt::format("hwprof_{}_{}_{}_{:08x}", pid, *started, pid_namespace(), random);
}

std::vector<std::string> dead_events(std::string_view list) {
  std::vector<std::string> dead;
  for (const std::string_view line : split(list, '\n')) {
    // "p:hwprof_1_2_3_0000000a/entry /usr/lib/x.so:0x10 id=..."
    if (!line.starts_with("p:") && !line.starts_with("r:")) continue;
    const std::string name(line.substr(2, line.find(' ') - 2));
    const auto slash = name.find('/');
    if (slash == std::string::npos || std::find(dead.begin(), dead.end(), name) != dead.end()) {
      continue;
    }
    if (is_dead(std::string_view(name).substr(0, slash))) dead.push_back(name);
  }
  return dead;
}

Result<Tracefs> Tracefs::open() {
  int code = ENOENT;
  for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    UniqueFd root(::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) continue;
    if (::faccessat(root.get(), "uprobe_events", W_OK, 0) == 0) return Tracefs(std::move(root));
    code = errno;
  }
  if (UniqueFd root = private_mount(); root.valid()) {
    if (::faccessat(root.get(), "uprobe_events", W_OK, 0) == 0) return Tracefs(std::move(root));
    code = errno;
  }
  return environment_error(code, fmt::format("uprobes cannot be set: {}", std::strerror(code)),
                           "they need root and a kernel with CONFIG_UPROBE_EVENTS");
}

Result<void> Tracefs::write_line(const std::string& line) const {
  const UniqueFd file(::openat(root_.get(), "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string text = line + "\n";
  if (!file.valid() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const int code = errno;
    return environment_error(code,
                             fmt::format("the kernel refuses a uprobe: {}", std::strerror(code)));
  }
  return {};
}

std::optional<std::string> Tracefs::read(const std::string& file) const {
  const UniqueFd fd(::openat(root_.get(), file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace hwprof::observe
