#include "src/observe/calls/audit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "src/base/clock.h"
#include "src/base/own_parts.h"
#include "src/base/text.h"
#include "src/observe/audit/ticks.h"
#include "src/observe/calls/bindings.h"

namespace hwprof::observe {
namespace {

// What takes less is counted, and its time added up, but not recorded: a record costs 20 ns.
constexpr double kLongCallNs = 20'000;
// Between two readings of both clocks, so that their rate is known to 1 in 10,000.
constexpr double kCalibrationNs = 2e6;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// What the kernel has found to be one clock for all CPUs at one rate, if not always the best one.
audit::Clock choose_clock() {
#if defined(__x86_64__)
  const auto sources =
      read_text_file("/sys/devices/system/clocksource/clocksource0/available_clocksource");
  const bool good = sources && (" " + *sources).find(" tsc") != std::string::npos;
  return good ? audit::Clock::kCounter : audit::Clock::kKernel;
#else
  return audit::Clock::kCounter;
#endif
}

// The parts of LD_AUDIT that are not ours. A hwprof around this one has put its library there, too:
// the loader would load both, and count each program and each call twice. Its table gets none of
// the command's then, and it says so.
std::string other_auditors(const std::string& library) {
  const char* set = std::getenv("LD_AUDIT");
  std::string others;
  for (const std::string_view part : split(set != nullptr ? set : "", ':')) {
    if (!part.empty() && file_name(part) != file_name(library)) others.append(part).append(":");
  }
  return others;
}

// Where there is an auditor, glibc (2.33 and later read this) sets the first thread's variables up
// before it knows the program's files, with room for few of those that have a fixed place: 1.6 KiB.
// With more, a program would not start. Each thread's stack has them too, so no more than needed:
// jemalloc, which a variable or the program itself may load, takes 2.6 KiB.
std::string room_for_thread_variables(std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 4096, kMost = 1U << 20U, kOthers = 4096;
  const char* set = std::getenv("GLIBC_TUNABLES");
  // The last one counts.
  return fmt::format("GLIBC_TUNABLES=glibc.rtld.optional_static_tls={}{}{}",
                     bytes == 0 ? kLeast : std::min(bytes + kOthers, kMost),
                     set != nullptr ? ":" : "", set != nullptr ? set : "");
}

}  // namespace

Result<std::string> find_audit_library() {
  return find_own_part("the audit library", {"src/observe/libhwprof-audit.so",
                                             HWPROF_LIBDIR "/hwprof/libhwprof-audit.so"});
}

Result<Audit> Audit::create(const std::string& library) {
  // The loader takes the variable apart at colons, and an empty part would be the working folder.
  if (library.find_first_of(": \n") != std::string::npos) {
    return environment_error(0, "LD_AUDIT cannot name " + library,
                             "put hwprof into a folder without colons and blanks in its path");
  }
  Audit audit;
  audit.library_ = library;
  audit.owner_ = ::getpid();
  audit.file_.reset(::memfd_create("hwprof-calls", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!audit.file_.valid() || ::ftruncate(audit.file_.get(), sizeof(audit::Table)) != 0 ||
      ::fchmod(audit.file_.get(), 0600) != 0 ||
      ::fcntl(audit.file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      ::getrandom(&audit.nonce_, sizeof(audit.nonce_), 0) != sizeof(audit.nonce_)) {
    return environment_error(errno,
                             fmt::format("no memory to count calls in: {}", std::strerror(errno)));
  }
  void* memory = ::mmap(nullptr, sizeof(audit::Table), PROT_READ | PROT_WRITE, MAP_SHARED,
                        audit.file_.get(), 0);
  if (memory == MAP_FAILED) {
    return environment_error(errno,
                             fmt::format("no memory to count calls in: {}", std::strerror(errno)));
  }
  audit.table_ = static_cast<audit::Table*>(memory);
  audit.began_ = Moment::now();
  audit.clock_ = audit.table_->clock = choose_clock();
  const double ns_per_tick = audit.clock_ == audit::Clock::kKernel ? 1 : rate_since(audit.began_);
  audit.table_->long_ticks = static_cast<audit::u64>(kLongCallNs / ns_per_tick);
  audit.table_->nonce = audit.nonce_;
  audit.table_->magic = audit::kMagic;
  return audit;
}

Audit::Audit(Audit&& other) noexcept
    : file_(std::move(other.file_)),
      table_(std::exchange(other.table_, nullptr)),
      library_(std::move(other.library_)),
      nonce_(other.nonce_),
      clock_(other.clock_),
      began_(other.began_),
      long_calls_(std::move(other.long_calls_)),
      owner_(other.owner_) {}

Audit::~Audit() {
  if (table_ != nullptr) ::munmap(table_, sizeof(audit::Table));
}

// By its name: the kernel may tell of the folder in another way.
bool Audit::is_library(const std::string& path) const {
  return file_name(path) == file_name(library_);
}

std::vector<std::string> Audit::environment(std::uint64_t thread_bytes) const {
  return {"LD_AUDIT=" + other_auditors(library_) + library_,
          room_for_thread_variables(thread_bytes),
          fmt::format("{}/proc/{}/fd/{}:{}", audit::kVariable, owner_, file_.get(), nonce_)};
}

void Audit::count_exactly(const ExactWish& wish) {
  audit::ExactCalls& exact = table_->exact;
  wish.name.copy(exact.name, sizeof(exact.name) - 1);
  exact.of_region = wish.of_region ? 1 : 0;
  exact.first = wish.first;
  exact.every = wish.every;
  exact.most = kMostExactCalls;
}

Audit::ExactTally Audit::exact_tally() const {
  const audit::ExactCalls& exact = table_->exact;
  return {.calls = audit::load(exact.calls),
          .handed_over = audit::load(exact.handed_over),
          .without_counter = audit::load(exact.without_counter),
          .filtered = audit::load(exact.filtered)};
}

std::string Audit::modules_variable() {
  return fmt::format("HWPROF_OPEN_MODULES={}", offsetof(audit::Table, open_modules));
}

std::map<std::string, bool> Audit::blas_files() const { return observe::blas_files(*table_); }
std::uint64_t Audit::unplaced() const { return audit::load(table_->unplaced); }
std::uint64_t Audit::processes() const { return audit::load(table_->processes); }
std::uint64_t Audit::unwatched() const { return audit::load(table_->unwatched); }

void Audit::drain(std::vector<TimedCall>* ended) {
  if (ended == nullptr) return long_calls_.read(*table_);
  std::vector<LongCalls::Call> calls;
  long_calls_.read(*table_, [&](const LongCalls::Call& call) { calls.push_back(call); });
  if (calls.empty()) return;
  // From the ticks of now: of the rate no more than the short way back to the call matters.
  TickClock clock = tick_clock();
  if (clock_ == audit::Clock::kCounter) {
    const Moment now = Moment::now();
    clock.ticks = now.ticks;
    clock.wall_ns = now.wall_ns;
  }
  for (const LongCalls::Call& call : calls) {
    ended->push_back({.thread = static_cast<pid_t>(call.thread),
                      .began_ns = static_cast<std::uint64_t>(clock.wall_of(call.began)),
                      .ended_ns = static_cast<std::uint64_t>(clock.wall_of(call.ended)),
                      .kind = call.kind(),
                      .python = call.place.whole ? call.place.stack : 0});
  }
}

void Audit::read_stacks_by(CallStacks stacks) {
  table_->reads_python = 1;
  long_calls_.read_stacks_by(std::move(stacks));
}

AuditedCalls Audit::finish() {
  drain();
  drain();  // what was being written is there now, or belongs to a dead process
  return read_audited_calls(*table_, long_calls_, tick_clock());
}

Audit::Moment Audit::Moment::now() {
  // The shortest of some readings: nothing came between its two clocks.
  constexpr int kReadings = 5;
  Moment best{};
  double shortest_ns = 0;
  for (int i = 0; i < kReadings; ++i) {
    const double before = hwprof::wall_ns();
    const Moment moment{audit::counter_ticks(), before};
    const double took = hwprof::wall_ns() - before;
    if (i > 0 && took >= shortest_ns) continue;
    best = {moment.ticks, before + took / 2};
    shortest_ns = took;
  }
  return best;
}

TickClock Audit::tick_clock() const {
  if (clock_ == audit::Clock::kKernel) return {};  // its ticks are that time
  return {.ns_per_tick = rate_since(began_), .ticks = began_.ticks, .wall_ns = began_.wall_ns};
}

double Audit::rate_since(const Moment& began) {
  Moment now = Moment::now();
  while (now.wall_ns - began.wall_ns < kCalibrationNs) now = Moment::now();
  return (now.wall_ns - began.wall_ns) / static_cast<double>(now.ticks - began.ticks);
}

}  // namespace hwprof::observe
