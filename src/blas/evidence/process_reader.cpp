#include "src/blas/evidence/process_reader.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/blas/providers/providers.h"
#include "src/observe/monitor/process_files.h"
#include "src/observe/monitor/sandbox.h"
#include "src/observe/proc/signals.h"

namespace hwprof::blas {
namespace {

template <std::size_t N>
using FixedText =
    std::array<char, N>;  // cut off where it is too long; ended by a zero where it is not

template <std::size_t N>
void put_text(std::string_view text, FixedText<N>& to) {
  text.copy(to.data(), to.size());
}
template <std::size_t N>
std::string text_in(const FixedText<N>& from) {
  const std::string_view text(from.data(), from.size());
  return std::string(text.substr(0, text.find('\0')));
}

// A value beyond its list is nobody's.
template <class E>
E known_or_none(std::uint8_t value, E last, E otherwise) {
  return value <= static_cast<std::uint8_t>(last) ? static_cast<E>(value) : otherwise;
}

constexpr std::size_t kMostLibraries = 16, kVariableBytes = 2048, kValueBytes = 256;
// The kernel gives a new program no more than 6 MiB of arguments and environment (execve(2)); what
// it calls its environment a process may change.
constexpr std::size_t kMostEnvironmentBytes = std::size_t{6} << 20U;
constexpr rlim_t kMostData = rlim_t{512} << 20U;

struct SharedLibrary {
  std::uint8_t provider, vector_class, elsewhere, deleted, unreadable;
  std::int32_t threads;  // 0: not known
  FixedText<512> path;
  FixedText<160> reason;
  FixedText<96> how;
  FixedText<32> version, core;
};

SharedLibrary shared_of(const MappedBlas& library) {
  SharedLibrary to{};
  const report::ChosenCore& chosen = library.chosen;
  to.provider = static_cast<std::uint8_t>(chosen.provider);
  to.vector_class = static_cast<std::uint8_t>(chosen.vector_class);
  to.elsewhere = library.elsewhere ? 1 : 0;
  to.deleted = library.deleted ? 1 : 0;
  to.unreadable = library.unreadable ? 1 : 0;
  to.threads = chosen.threads.value_or(0);
  put_text(chosen.path, to.path);
  put_text(chosen.reason, to.reason);
  put_text(chosen.how, to.how);
  put_text(chosen.version, to.version);
  put_text(chosen.core, to.core);
  return to;
}

MappedBlas library_of(const SharedLibrary& from) {
  MappedBlas library{.chosen = {}, .serves_blas = true};
  report::ChosenCore& chosen = library.chosen;
  chosen.provider = known_or_none(from.provider, Provider::kEigen, Provider::kUnknown);
  if (!is_known(chosen.provider)) chosen.provider = Provider::kUnknown;
  chosen.vector_class = known_or_none(from.vector_class, VectorClass::kAvx512, VectorClass::kNone);
  library.elsewhere = from.elsewhere != 0;
  library.deleted = from.deleted != 0;
  library.unreadable = from.unreadable != 0;
  if (from.threads > 0) chosen.threads = from.threads;
  chosen.path = text_in(from.path);
  chosen.reason = text_in(from.reason);
  chosen.how = text_in(from.how);
  chosen.version = text_in(from.version);
  chosen.core = text_in(from.core);
  return library;
}

// "NAME=VALUE", each ended by a zero. False: not all of it.
bool put_variables(const Variables& variables, FixedText<kVariableBytes>& to) {
  bool all = true;
  std::size_t used = 0;
  for (const auto& [name, value] : variables) {
    const std::string entry = name + "=" + value.substr(0, kValueBytes);
    if (used + entry.size() + 1 >= to.size()) return false;
    all = all && value.size() <= kValueBytes;
    entry.copy(to.data() + used, entry.size());
    used += entry.size() + 1;
  }
  return all;
}

// A process may have memory maps, files and variables that take more memory than the machine has.
void limit_data() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, kMostData);
  limit.rlim_max = std::min(limit.rlim_max, limit.rlim_cur);
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
}

// While there are rights to do so with.
void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, count);
  if (::geteuid() == 0) limit.rlim_max = std::max(limit.rlim_max, limit.rlim_cur);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

std::vector<int> descriptors_of(const std::vector<observe::ProcessFiles>& all) {
  std::vector<int> kept;
  for (const observe::ProcessFiles& files : all)
    for (const UniqueFd* file :
         {&files.maps, &files.memory, &files.environment, &files.program, &files.root})
      if (file->valid()) kept.push_back(file->get());
  return kept;
}

// Of one process.
struct SharedProcess {
  std::uint32_t done;  // all below is there
  std::int32_t error;  // errno; 0: it could be read
  std::int32_t environment_error;
  std::uint32_t variables_cut;
  std::uint32_t library_count;
  std::array<SharedLibrary, kMostLibraries> libraries;
  FixedText<kVariableBytes> variables;
};

// No text of the reader's own; what errno says is hwprof's to say.
std::string why_unread(int error) {
  switch (error) {
    case ENOENT:
    case ESRCH:
      return "ended meanwhile, or became another program or another user's";
    case EACCES:
    case EPERM:
      return "has rights that its user does not have, or lets nobody look";
    case EFBIG:
      return "its memory map is longer than 16 MiB";
    case ENOMEM:
      return "to read it takes more memory than a reader has";
    default:
      return std::strerror(error);
  }
}

ReadProcess taken(const SharedProcess& written) {
  ReadProcess process;
  if (written.error != 0) {
    process.reason = why_unread(written.error);
    return process;
  }
  process.read = true;
  const auto count = std::min<std::size_t>(written.library_count, written.libraries.size());
  for (std::size_t i = 0; i < count; ++i)
    process.libraries.push_back(library_of(written.libraries.at(i)));
  process.more_libraries = written.library_count - count;
  if (written.environment_error != 0) {
    process.environment_reason = written.environment_error == EFBIG
                                     ? "it is longer than 6 MiB"
                                     : std::strerror(written.environment_error);
  } else if (written.variables_cut != 0) {
    process.environment_reason = "only the first 2 KiB, and 256 bytes of each, are known";
  }
  const std::string_view text(written.variables.data(), written.variables.size());
  process.variables = telling_variables(text);
  return process;
}

void read_process(ProcessBlas& blas, pid_t pid, const observe::ProcessFiles& from,
                  SharedProcess& to) try {
  to.error = from.error;
  if (from.error != 0) return;
  errno = 0;
  const auto mapped = blas.mapped_in(pid, from);
  if (!mapped) {
    to.error = errno != 0 ? errno : ESRCH;
    return;
  }
  const auto libraries = each_blas(*mapped);
  to.library_count = static_cast<std::uint32_t>(libraries.size());
  for (std::size_t i = 0; i < std::min(libraries.size(), to.libraries.size()); ++i)
    to.libraries.at(i) = shared_of(libraries[i]);
  if (libraries.empty()) return;  // of interest where there is a BLAS to be shaped
  errno = from.environment_error;
  const auto text = from.environment.valid()
                        ? read_text(from.environment.get(), kMostEnvironmentBytes)
                        : std::optional<std::string>();
  to.environment_error = text ? 0 : errno;
  if (text) to.variables_cut = put_variables(telling_variables(*text), to.variables) ? 0 : 1;
} catch (const std::bad_alloc&) {
  to.library_count = 0;
  to.error = ENOMEM;
}

}  // namespace

struct ProcessReader::Shared {
  std::atomic<std::uint32_t> steps, at;
  // As many as there are processes.
  SharedProcess* processes() { return reinterpret_cast<SharedProcess*>(this + 1); }
};

void ProcessReader::Unmap::operator()(Shared* shared) const { ::munmap(shared, bytes); }

Result<ProcessReader> ProcessReader::start(std::vector<observe::SeenProcess> processes,
                                           const Account& account) {
  const std::size_t bytes = sizeof(Shared) + processes.size() * sizeof(SharedProcess);
  // The kernel's zeroes are processes that were not read; what is not touched takes no memory.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return environment_error(errno, fmt::format("mmap: {}", std::strerror(errno)));
  ProcessReader reader(std::move(processes),
                       SharedMemory(static_cast<Shared*>(memory), Unmap{bytes}));
  const pid_t parent = ::getpid();
  reader.pid_ = ::fork();
  if (reader.pid_ < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (reader.pid_ == 0) reader.read(account, parent);
  // The readers that are started from now on could write into it.
  if (::madvise(memory, bytes, MADV_DONTFORK) != 0) {
    const int code = errno;
    end_child(reader.pid_);
    return environment_error(code, fmt::format("madvise: {}", std::strerror(code)));
  }
  TRY(reader.ended_, watch_child(reader.pid_));
  return reader;
}

// The process from its first moment to its last.
void ProcessReader::read(const Account& account, pid_t parent) try {
  observe::end_with_parent(parent);
  SignalWatch::restore_in_child();
  // Nothing to say, and no terminal to say it on.
  observe::keep_variables({});
  observe::leave_what_is_hwprofs({});
  allow_descriptors(observe::kFilesOfProcess * processes_.size() + 64);
  limit_data();
  const auto next = [&](std::size_t at) {
    shared_->at = static_cast<std::uint32_t>(at);
    ++shared_->steps;
  };
  const auto files = observe::open_process_files(processes_, account, next);
  if (!observe::enter_sandbox(account, descriptors_of(files))) ::_exit(1);
  // Nothing above has read what a process wrote; nothing below has rights that its user has not.
  ProcessBlas blas;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    next(i);
    read_process(blas, processes_[i].pid, files[i], shared_->processes()[i]);
    std::atomic_ref(shared_->processes()[i].done) = 1;
  }
  ::_exit(0);
} catch (...) {  // of memory
  ::_exit(1);
}

std::uint32_t ProcessReader::steps() const { return shared_->steps; }

std::size_t ProcessReader::at() const {
  return std::min<std::size_t>(shared_->at, processes_.empty() ? 0 : processes_.size() - 1);
}

void ProcessReader::kill() const {
  if (ended_.valid()) ::kill(pid_, SIGKILL);
}

bool ProcessReader::end(std::chrono::steady_clock::time_point deadline) {
  if (!ended_.valid()) return true;
  int status = 0;
  kill();  // to one that has ended already it is nothing
  if (!reap_until(pid_, deadline, status)) return false;
  ended_.reset();
  how_it_ended_ = hwprof::how_it_ended(status);
  return true;
}

std::vector<std::optional<ReadProcess>> ProcessReader::results() const {
  std::vector<std::optional<ReadProcess>> all;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    // A copy: something that it left behind could go on writing.
    const auto copy = std::make_unique<SharedProcess>(shared_->processes()[i]);
    all.push_back(copy->done != 0 ? std::optional(taken(*copy)) : std::nullopt);
  }
  return all;
}

ProcessReader::~ProcessReader() {
  if (ended_.valid()) end(std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

}  // namespace hwprof::blas
