#include "src/blas/evidence/process_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
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

constexpr std::size_t kMostLibraries = 8, kVariableBytes = 2048, kValueBytes = 256;

struct SharedLibrary {
  std::uint8_t provider, vector_class, elsewhere, deleted;
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
  if (from.threads > 0) chosen.threads = from.threads;
  chosen.path = text_in(from.path);
  chosen.reason = text_in(from.reason);
  chosen.how = text_in(from.how);
  chosen.version = text_in(from.version);
  chosen.core = text_in(from.core);
  return library;
}

// "NAME=VALUE", each ended by a zero.
void put_variables(const Variables& variables, FixedText<kVariableBytes>& to) {
  std::size_t used = 0;
  for (const auto& [name, value] : variables) {
    const std::string entry = name + "=" + value.substr(0, kValueBytes);
    if (used + entry.size() + 1 >= to.size()) return;
    entry.copy(to.data() + used, entry.size());
    used += entry.size() + 1;
  }
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

}  // namespace

struct ProcessReader::Shared {
  std::uint32_t done;  // all below is there
  std::int32_t error;  // errno; 0: it could be read
  std::int32_t environment_error;
  std::uint32_t library_count;
  std::array<SharedLibrary, kMostLibraries> libraries;
  FixedText<kVariableBytes> variables;
};

void ProcessReader::Unmap::operator()(Shared* shared) const { ::munmap(shared, bytes); }

Result<ProcessReader> ProcessReader::start(std::vector<pid_t> pids, const Account& account) {
  const std::size_t bytes = std::max<std::size_t>(1, pids.size()) * sizeof(Shared);
  // The kernel's zeroes are processes that were not read; what is not touched takes no memory.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return environment_error(errno, fmt::format("mmap: {}", std::strerror(errno)));
  ProcessReader reader(std::move(pids), SharedMemory(static_cast<Shared*>(memory), Unmap{bytes}));
  reader.pid_ = ::fork();
  if (reader.pid_ < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (reader.pid_ == 0) reader.read(account);
  TRY(reader.ended_, watch_child(reader.pid_));
  return reader;
}

// The process from its first moment to its last.
void ProcessReader::read(const Account& account) try {
  SignalWatch::restore_in_child();
  // Nothing to say, and no terminal to say it on.
  observe::keep_variables({});
  observe::leave_what_is_hwprofs({});
  allow_descriptors(observe::kFilesOfProcess * pids_.size() + 64);
  const std::vector<observe::ProcessFiles> files = observe::open_process_files(pids_, account);
  if (!observe::enter_sandbox(account, descriptors_of(files))) ::_exit(1);
  // Nothing above has read what a process wrote; nothing below has rights that its user has not.
  ProcessBlas blas;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    Shared& to = shared_.get()[i];
    const observe::ProcessFiles& from = files[i];
    to.error = from.error;
    if (from.error == 0) {
      const auto libraries = each_blas(blas.mapped_in(pids_[i], from));
      for (const MappedBlas& library : libraries)
        if (to.library_count < to.libraries.size())
          to.libraries.at(to.library_count++) = shared_of(library);
      // Of interest where there is a BLAS to be shaped.
      if (!libraries.empty()) {
        errno = from.environment_error;
        const auto text = from.environment.valid() ? read_text(from.environment.get())
                                                   : std::optional<std::string>();
        to.environment_error = text ? 0 : errno;
        if (text) put_variables(telling_variables(*text), to.variables);
      }
    }
    to.done = 1;
  }
  ::_exit(0);
} catch (...) {  // of memory
  ::_exit(1);
}

ReadProcess ProcessReader::taken(const Shared& written, const std::string& unread) {
  ReadProcess process;
  if (written.done == 0) {
    process.reason = unread;
    return process;
  }
  if (written.error == ENOENT || written.error == ESRCH) {
    process.reason = "ended meanwhile";
    return process;
  }
  if (written.error != 0) {
    process.reason = written.error == EACCES || written.error == EPERM
                         ? "has rights that its user does not have, or lets nobody look"
                         : std::strerror(written.error);
    return process;
  }
  process.read = true;
  const auto count = std::min<std::size_t>(written.library_count, written.libraries.size());
  for (std::size_t i = 0; i < count; ++i)
    process.libraries.push_back(library_of(written.libraries.at(i)));
  if (written.environment_error != 0)
    process.environment_reason = std::strerror(written.environment_error);
  const std::string_view text(written.variables.data(), written.variables.size());
  process.variables = telling_variables(text);
  return process;
}

std::vector<ReadProcess> ProcessReader::finish(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  const auto left =
      std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  pollfd event{ended_.get(), POLLIN, 0};
  const int ready = retry_interrupted(
      [&] { return ::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(0, left))); });
  int status = 0;
  std::string unread = "its reader took too long, and was ended";
  if (ready > 0 && ::waitpid(pid_, &status, 0) == pid_) {
    unread = "its reader " + how_it_ended(status);
  } else {
    end_child(pid_);
  }
  ended_.reset();
  std::vector<ReadProcess> all;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    // A copy: something that it left behind could go on writing.
    const auto copy = std::make_unique<Shared>(shared_.get()[i]);
    all.push_back(taken(*copy, unread));
  }
  return all;
}

ProcessReader::~ProcessReader() {
  if (ended_.valid()) end_child(pid_);
}

}  // namespace hwprof::blas
