#include "src/observe/calls/tracefs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/base/private_mount.h"
#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

ProbeBeginner other_beginner = nullptr;

// Process numbers mean something only within one.
std::uint64_t pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool is_dead(std::string_view group, pid_t given_up) {
  const auto parts = split(group, '_');
  if (parts.size() != 5 || parts[0] != "hwprof") return false;
  const auto pid = parse_int(parts[1]);
  const auto started = parse_unsigned(parts[2]);
  if (!pid || !started || parse_unsigned(parts[3]) != pid_namespace()) return false;
  if (*pid == given_up) return true;
  // Who sets probes is root, or acts as a user at the moment. Or the number is that user's by now,
  // who can let whoever reads its stat wait: nothing of it is read, and the probes stay until it
  // ends.
  struct stat folder {};
  if (has_ended(*pid) || ::stat(fmt::format("/proc/{}", *pid).c_str(), &folder) != 0) return true;
  if (folder.st_uid != ::geteuid()) return false;
  const auto process = process_info(*pid);
  return !process || process->start_ticks != *started;
}

}  // namespace

std::string new_group_name() {
  const auto own = process_info(::getpid());
  std::uint32_t random = 0;
  if (!own || ::getrandom(&random, sizeof(random), 0) != sizeof(random)) return {};
  return fmt::format("hwprof_{}_{}_{}_{:08x}", ::getpid(), own->start_ticks, pid_namespace(),
                     random);
}

std::vector<std::string> dead_events(std::string_view list, pid_t given_up) {
  std::vector<std::string> dead;
  for (const std::string_view line : split(list, '\n')) {
    // "p:hwprof_1_2_3_0000000a/entry /usr/lib/x.so:0x10 id=..."
    if (!line.starts_with("p:") && !line.starts_with("r:")) continue;
    const std::string name(line.substr(2, line.find(' ') - 2));
    const auto slash = name.find('/');
    if (slash == std::string::npos || std::find(dead.begin(), dead.end(), name) != dead.end()) {
      continue;
    }
    if (is_dead(std::string_view(name).substr(0, slash), given_up)) dead.push_back(name);
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
  if (UniqueFd root = private_mount("tracefs"); root.valid()) {
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
  return read_text_file(fmt::format("/proc/self/fd/{}/{}", root_.get(), file));
}

void remove_leftover_probes(pid_t given_up) {
  const auto tracefs = Tracefs::open();
  if (!tracefs) return;
  for (const std::string& event :
       dead_events(tracefs->read("uprobe_events").value_or(""), given_up)) {
    // Refused while somebody has it open, and that is right.
    static_cast<void>(tracefs->write_line("-:" + event));
  }
}

Result<std::unique_ptr<ProbeSet>> begin_probes() {
  if (other_beginner != nullptr) return other_beginner();
  TRY(auto probes, TracefsProbes::make());
  return probes;
}

void begin_probes_with(ProbeBeginner beginner) { other_beginner = beginner; }

Result<std::unique_ptr<TracefsProbes>> TracefsProbes::make() {
  remove_leftover_probes();
  TRY(Tracefs tracefs, Tracefs::open());
  std::string name = new_group_name();
  if (name.empty()) return environment_error(0, "this process cannot be identified in /proc");
  return std::unique_ptr<TracefsProbes>(new TracefsProbes(std::move(tracefs), std::move(name)));
}

Result<std::vector<EventFormat>> TracefsProbes::define(int file, int generation,
                                                       std::span<const Probe> probes) {
  std::vector<EventFormat> events;
  for (const Probe& probe : probes) {
    TRY(const EventFormat event, define(file, generation, probe));
    const bool known = std::any_of(events.begin(), events.end(),
                                   [&](const EventFormat& one) { return one.type == event.type; });
    if (!known) events.push_back(event);
  }
  return events;
}

Result<EventFormat> TracefsProbes::define(int file, int generation, const Probe& probe) {
  const std::string event =
      fmt::format("{}{}", kEventNames[static_cast<std::size_t>(probe.kind)], generation);
  if (const auto written = tracefs_.write_line(
          probe_definition(name_, event, probe.kind, file, probe.entry, probe.id));
      !written) {
    Error error = written.error();
    error.what += fmt::format(", on {}", probe.entry.symbol);
    return tl::make_unexpected(std::move(error));
  }
  const auto [known, is_new] = events_.try_emplace(event);
  if (!is_new) return known->second;
  const auto text = tracefs_.read(fmt::format("events/{}/{}/format", name_, event));
  const auto format = parse_event_format(text.value_or(""));
  if (!format) return environment_error(0, "the kernel does not describe its uprobe event");
  return known->second = *format;
}

std::vector<std::string> TracefsProbes::remove() {
  std::vector<std::string> left;
  // What stays is tried again at the end.
  std::erase_if(events_, [&](const auto& entry) {
    const auto removed = tracefs_.write_line(fmt::format("-:{}/{}", name_, entry.first));
    if (!removed) {
      left.push_back(fmt::format("The probes {}/{} are left in tracefs: {}.", name_, entry.first,
                                 removed.error().what));
    }
    return removed.has_value();
  });
  return left;
}

}  // namespace hwprof::observe
