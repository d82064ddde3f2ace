#include "src/observe/samples/sampling.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "counters/machine/affinity.h"
#include "counters/machine/machine.h"
#include "counters/perf/perf_error.h"
#include "src/base/text.h"
#include "src/observe/perf/ring.h"
#include "src/observe/proc/address_space.h"
#include "src/observe/proc/maps.h"
#include "src/observe/proc/processes.h"
#include "src/observe/samples/sample_table.h"

namespace hwprof::observe {
namespace {

constexpr double kMaximumHz = 10'000;

perf_event_attr attributes(double hz, bool on_exec, bool stacks, bool user_only) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = static_cast<std::uint64_t>(std::lround(hz));
  attr.sample_type = sample_type(stacks);
  attr.sample_id_all = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.inherit = 1;
  attr.disabled = 1;
  attr.enable_on_exec = on_exec;
  attr.exclude_kernel = user_only;
  attr.exclude_hv = 1;
  attr.exclude_callchain_kernel = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;  // one clock for the rings of all CPUs
  attr.watermark = 1;
  attr.wakeup_watermark = Ring::kBytes / 2;
  return attr;
}

UniqueFd open_event(const perf_event_attr& attr, int tid, unsigned cpu) {
  perf_event_attr copy = attr;
  return UniqueFd(static_cast<int>(
      syscall(SYS_perf_event_open, &copy, tid, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
}

// The kernel lowers what it allows when sampling once took too long.
double allowed_hz(double wanted) {
  const auto text = read_text_file("/proc/sys/kernel/perf_event_max_sample_rate");
  const auto limit = text ? parse_unsigned(trim(*text)) : std::nullopt;
  return limit && *limit > 0 ? std::min(wanted, static_cast<double>(*limit)) : wanted;
}

std::vector<unsigned> online_cpus() {
  const auto text = read_text_file("/sys/devices/system/cpu/online");
  const auto list = text ? parse_cpu_list(trim(*text)) : Result<CpuList>(allowed_cpus());
  return list ? *list : allowed_cpus();
}

tl::unexpected<Error> refused(int pid, int code) {
  if (code == EMFILE) {
    return environment_error(
        code, fmt::format("cannot sample process {}: no file descriptor is left", pid),
        "raise the limit: ulimit -n 65536");
  }
  if (code == ESRCH) {
    return environment_error(code, fmt::format("cannot sample process {}: it has ended", pid));
  }
  const Refusal refusal = explain_open_failure(probe_machine(current_cpu()), code, "cpu-clock");
  return environment_error(code, fmt::format("cannot sample process {}: {}", pid, refusal.reason),
                           refusal.remedy);
}

}  // namespace

struct Sampling::State {
  SamplingOptions options;
  perf_event_attr attr{};
  std::vector<Ring> rings;          // one a CPU
  std::vector<UniqueFd> followers;  // events of further threads, into the ring of their CPU
  std::set<int> opened;             // thread ids
  std::vector<unsigned> cpus;       // as `rings`

  AddressSpaces spaces;
  SampleTable table;
  std::vector<Record> waiting;  // not yet in order: another ring may hold older ones
  std::uint64_t settled_ns = 0;
  std::uint64_t lost = 0, throttled = 0;
  bool broken = false;
  std::vector<std::string> notes;

  Result<void> open_first(int tid, bool on_exec);
  bool open_further(int tid);
  void attach(int pid);
  void take();
  void apply_settled(bool all);
  void apply(const Record& record);
  void add(const Sample& sample);
  [[nodiscard]] CodePlace place(int pid, std::uint64_t address, bool executed);
};

// The event of one thread on each CPU (an inherited event may have a ring only when it is bound to
// a CPU), tried with the kernel's own time first.
Result<void> Sampling::State::open_first(int tid, bool on_exec) {
  const double hz = allowed_hz(options.hz);
  if (hz < options.hz) {
    notes.push_back(
        fmt::format("sampled at {:.0f} Hz: kernel.perf_event_max_sample_rate allows no more", hz));
  }
  bool user_only = false;
  attr = attributes(hz, on_exec, options.stacks, user_only);
  std::vector<unsigned> used;
  for (const unsigned cpu : cpus) {
    UniqueFd event = open_event(attr, tid, cpu);
    if (!event.valid() && (errno == EACCES || errno == EPERM) && !user_only) {
      user_only = true;
      attr = attributes(hz, on_exec, options.stacks, user_only);
      event = open_event(attr, tid, cpu);
    }
    if (!event.valid() && errno == ENODEV) continue;  // went offline
    if (!event.valid()) return refused(tid, errno);
    auto ring = Ring::map(std::move(event));
    if (!ring) return error_of(ring);
    rings.push_back(std::move(*ring));
    used.push_back(cpu);
  }
  cpus = std::move(used);
  opened.insert(tid);
  if (user_only) {
    notes.emplace_back(
        "time inside the kernel is not sampled: kernel.perf_event_paranoid keeps it from ordinary "
        "users");
  }
  return {};
}

bool Sampling::State::open_further(int tid) {
  for (std::size_t i = 0; i < rings.size(); ++i) {
    UniqueFd event = open_event(attr, tid, cpus[i]);
    if (!event.valid()) return errno == ESRCH;
    if (ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, rings[i].descriptor()) != 0) return false;
    followers.push_back(std::move(event));
  }
  opened.insert(tid);
  return true;
}

// Threads that start meanwhile are inherited or found in the next round.
void Sampling::State::attach(int pid) {
  constexpr int kRounds = 8;
  bool complete = true;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t before = opened.size();
    for (const int process : process_tree(pid)) {
      for (const int tid : threads_of(process)) {
        if (!opened.contains(tid) && !open_further(tid)) complete = false;
      }
    }
    if (opened.size() == before) break;
  }
  if (!complete) {
    notes.push_back(fmt::format("not every thread of process {} could be sampled", pid));
  }
  for (const Ring& ring : rings) ioctl(ring.descriptor(), PERF_EVENT_IOC_ENABLE, 0);
  for (const UniqueFd& event : followers) ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
  // After that, so that nothing is mapped unseen in between.
  for (const int process : process_tree(pid)) {
    const std::string folder = fmt::format("/proc/{}/", process);
    const std::string name(trim(read_text_file(folder + "comm").value_or("")));
    spaces.apply(Named{process, process, true, name});
    for (const int tid : threads_of(process)) {
      if (tid != process) spaces.apply(Forked{process, process, tid});
    }
    for (const Mapped& mapped :
         mapped_code(process, read_text_file(folder + "maps").value_or(""))) {
      spaces.apply(mapped);
    }
  }
}

void Sampling::State::take() {
  std::uint64_t newest = settled_ns;
  for (Ring& ring : rings) {
    RingContent content = ring.take(options.stacks);
    broken = broken || content.broken;
    for (Record& record : content.records) {
      newest = std::max(newest, record.time_ns);
      waiting.push_back(std::move(record));
    }
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const Record& a, const Record& b) { return a.time_ns < b.time_ns; });
  apply_settled(false);
  // Whatever is older than the newest of this round has arrived by the next one: perf's rule.
  settled_ns = newest;
}

void Sampling::State::apply_settled(bool all) {
  const auto end =
      all ? waiting.end() : std::find_if(waiting.begin(), waiting.end(), [&](const Record& record) {
        return record.time_ns > settled_ns;
      });
  std::for_each(waiting.begin(), end, [&](const Record& record) { apply(record); });
  waiting.erase(waiting.begin(), end);
}

void Sampling::State::apply(const Record& record) {
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, Sample>) {
          add(body);
        } else if constexpr (std::is_same_v<Body, Lost>) {
          lost += body.records;
        } else if constexpr (std::is_same_v<Body, Throttled>) {
          ++throttled;
        } else {
          spaces.apply(body);
        }
      },
      record.body);
}

CodePlace Sampling::State::place(int pid, std::uint64_t address, bool executed) {
  const Mapping* mapping = spaces.find(pid, address);
  if (mapping == nullptr) return table.images.unknown(address);
  return table.images.locate(pid, *mapping, address, executed);
}

void Sampling::State::add(const Sample& sample) {
  const CodePlace hit =
      sample.in_kernel ? table.images.kernel(sample.ip) : place(sample.pid, sample.ip, true);
  table.add(hit, sample.tid);
  if (!options.stacks) return;
  std::vector<CodePlace> callers;
  for (const std::uint64_t address : sample.callers) {
    // A return address may already belong to what follows the call.
    callers.push_back(place(sample.pid, address - 1, false));
  }
  table.add_stack(spaces.name(sample.pid), hit, callers);
}

Sampling::Sampling(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sampling::Sampling(Sampling&&) noexcept = default;
Sampling& Sampling::operator=(Sampling&&) noexcept = default;
Sampling::~Sampling() = default;

Result<Sampling> Sampling::open(int pid, bool on_exec, const SamplingOptions& options) {
  if (!(options.hz >= 1 && options.hz <= kMaximumHz)) {
    return usage_error(fmt::format("cannot sample at {} Hz", options.hz),
                       "a frequency from 1 to 10000");
  }
  auto state = std::make_unique<State>();
  state->options = options;
  state->cpus = online_cpus();
  if (auto opened = state->open_first(pid, on_exec); !opened) return error_of(opened);
  if (!on_exec) state->attach(pid);
  return Sampling(std::move(state));
}

std::vector<int> Sampling::descriptors() const {
  std::vector<int> descriptors;
  for (const Ring& ring : state_->rings) descriptors.push_back(ring.descriptor());
  return descriptors;
}

void Sampling::drain() { state_->take(); }

SampleProfile Sampling::finish() {
  State& state = *state_;
  for (const Ring& ring : state.rings) ioctl(ring.descriptor(), PERF_EVENT_IOC_DISABLE, 0);
  for (const UniqueFd& event : state.followers) ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
  state.take();
  state.apply_settled(true);
  state.rings.clear();
  state.followers.clear();

  SampleProfile profile = state.table.resolve(state.options);
  profile.hz = static_cast<double>(state.attr.sample_freq);
  profile.lost = state.lost;
  profile.notes.insert(profile.notes.begin(), state.notes.begin(), state.notes.end());
  if (state.lost > 0) {
    profile.notes.push_back(fmt::format("{} records were lost: the rings were full", state.lost));
  }
  if (state.throttled > 0) {
    profile.notes.push_back(fmt::format(
        "the kernel paused sampling {} times, since it took too long", state.throttled));
  }
  if (state.broken) profile.notes.emplace_back("a ring held records that could not be read");
  return profile;
}

}  // namespace hwprof::observe
