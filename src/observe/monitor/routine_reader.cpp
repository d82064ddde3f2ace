#include "src/observe/monitor/routine_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "src/base/spawn.h"
#include "src/observe/monitor/sandbox.h"
#include "src/observe/proc/signals.h"

namespace hwprof::observe {

struct RoutineReader::Found {
  struct Place {
    std::uint64_t offset = 0;
    std::array<char, 56> symbol{};  // ended by a zero
  };
  std::uint32_t places_used = 0;
  std::array<Place, kMostEntryPoints> places;
};

void RoutineReader::Unmap::operator()(Found* found) const { ::munmap(found, sizeof *found); }

Result<RoutineReader> RoutineReader::start(UniqueFd file, const Account& user) {
  void* memory =
      ::mmap(nullptr, sizeof(Found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return environment_error(errno, fmt::format("mmap: {}", std::strerror(errno)));
  // The kernel's zeroes are an empty one.
  RoutineReader reader(std::move(file), SharedFound(static_cast<Found*>(memory)));
  reader.pid_ = ::fork();
  if (reader.pid_ < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (reader.pid_ == 0) reader.read(user);
  reader.ended_.reset(static_cast<int>(::syscall(SYS_pidfd_open, reader.pid_, 0)));
  if (!reader.ended_.valid())
    return environment_error(errno, fmt::format("pidfd_open: {}", std::strerror(errno)));
  return reader;
}

// The process from its first moment to its last.
void RoutineReader::read(const Account& user) try {
  SignalWatch::restore_in_child();
  if (!enter_sandbox(user, {file_.get()})) ::_exit(1);
  // A name alone (O_PATH) takes no right on the file: whether that user may read it shows here.
  const std::string name = fmt::format("/proc/self/fd/{}", file_.get());
  UniqueFd opened(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!opened.valid()) ::_exit(1);
  const auto file = read_routines(std::move(opened), "");
  if (!file) ::_exit(0);
  for (const EntryPoint& entry : file->entries) {
    Found::Place& place = found_->places.at(found_->places_used);
    if (entry.symbol.size() >= place.symbol.size()) continue;  // no routine's name is so long
    place.offset = entry.offset;
    entry.symbol.copy(place.symbol.data(), entry.symbol.size());
    ++found_->places_used;
  }
  ::_exit(0);
} catch (...) {  // of memory
  ::_exit(1);
}

Result<std::vector<EntryPoint>> RoutineReader::routines() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_)
    return environment_error(ETIMEDOUT, "the symbols of the file took too long to read");
  ended_.reset();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return environment_error(EIO, "the symbols of the file could not be read");
  std::vector<EntryPoint> entries;
  const auto used = std::min<std::size_t>(found_->places_used, found_->places.size());
  for (const Found::Place& place : std::span(found_->places).first(used)) {
    const std::string_view symbol(place.symbol.data(), place.symbol.size());
    EntryPoint entry{.symbol = std::string(symbol.substr(0, symbol.find('\0'))),
                     .offset = place.offset,
                     .size = 0,
                     .routine = {}};
    if (find_routine(entry.symbol.c_str(), entry.routine)) entries.push_back(std::move(entry));
  }
  return entries;
}

RoutineReader::~RoutineReader() {
  if (ended_.valid()) end_child(pid_);
}

}  // namespace hwprof::observe
