#include "src/observe/proc/process_memory.h"

#include <unistd.h>

#include "src/observe/proc/foreign_file.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostMemories = 64;

}  // namespace

bool ProcessMemory::read(int pid, std::uint64_t address, std::span<std::byte> to) {
  auto known = files_.find(pid);
  if (known == files_.end()) {
    if (files_.size() >= kMostMemories) files_.clear();
    UniqueFd file = open_foreign(
        {.kind = ForeignFile::Kind::kMemory, .pid = pid, .start = 0, .end = 0, .path = {}});
    known = files_.emplace(pid, std::move(file)).first;
  }
  if (!known->second.valid() || address > static_cast<std::uint64_t>(INT64_MAX) - to.size())
    return false;
  const ssize_t got = retry_interrupted([&] {
    return ::pread(known->second.get(), to.data(), to.size(), static_cast<off_t>(address));
  });
  return got == static_cast<ssize_t>(to.size());
}

}  // namespace hwprof::observe
