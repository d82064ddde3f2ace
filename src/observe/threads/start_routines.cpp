#include "src/observe/threads/start_routines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "src/base/unique_fd.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/elf/symbols.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/proc/maps.h"
#include "src/observe/proc/process_memory.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostThreads = 4096;

// A description of nptl_db: size in bits, number of elements, offset.
std::optional<std::uint64_t> described(const ElfFile& elf, int file, std::string_view field) {
  std::optional<std::uint64_t> offset;
  elf.each_symbol(SHT_DYNSYM, [&](const ElfSymbol& symbol) {
    if (!symbol.defined || field != symbol.name) return;
    for (const ElfSegment& segment : elf.segments()) {
      if (!segment.holds_address(symbol.address)) continue;
      std::array<std::uint32_t, 3> words{};
      const auto at = static_cast<off_t>(symbol.address - segment.address + segment.offset);
      if (::pread(file, words.data(), sizeof words, at) == sizeof words) offset = words[2];
    }
  });
  return offset;
}

}  // namespace

std::map<pid_t, std::uint64_t> start_routines(const ThreadLayout& layout, const ReadMemory& read) {
  std::map<pid_t, std::uint64_t> routines;
  auto node = read_word<std::uint64_t>(read, layout.list_head);
  for (std::size_t i = 0; i < kMostThreads && node && *node != 0; ++i) {
    if (*node == layout.list_head) break;
    const std::uint64_t descriptor = *node - layout.list;
    const auto tid = read_word<std::int32_t>(read, descriptor + layout.tid);
    const auto routine = read_word<std::uint64_t>(read, descriptor + layout.start_routine);
    if (!tid || !routine) break;
    if (*tid > 0 && *routine != 0) routines[*tid] = *routine;
    node = read_word<std::uint64_t>(read, *node);
  }
  return routines;
}

std::optional<ThreadLayout> StartRoutines::layout_of(const Files& files) {
  const UniqueFd c_library = open_regular_file(files.c_library);
  const UniqueFd loader = open_regular_file(files.loader);
  if (!c_library.valid() || !loader.valid()) return std::nullopt;
  const ElfFile elf(c_library.get()), loader_elf(loader.get());
  if (!elf.valid() || !loader_elf.valid()) return std::nullopt;
  const auto start = described(elf, c_library.get(), "_thread_db_pthread_start_routine");
  const auto tid = described(elf, c_library.get(), "_thread_db_pthread_tid");
  const auto list = described(elf, c_library.get(), "_thread_db_pthread_list");
  const auto used = described(elf, c_library.get(), "_thread_db_rtld_global__dl_stack_used");
  std::optional<std::uint64_t> globals;
  loader_elf.each_symbol(SHT_DYNSYM, [&](const ElfSymbol& symbol) {
    if (symbol.defined && std::string_view(symbol.name) == "_rtld_global") globals = symbol.address;
  });
  if (!start || !tid || !list || !used || !globals) return std::nullopt;
  return ThreadLayout{*start, *tid, *list, *globals + *used};
}

std::map<pid_t, std::uint64_t> StartRoutines::of(pid_t pid) {
  Files files;
  for (const FileMapping& mapping : executable_files(read_maps(pid).value_or(""))) {
    const std::string name = mapping.path.substr(mapping.path.rfind('/') + 1);
    if (name.starts_with("libc.so.") || name.starts_with("libc-2.")) files.c_library = mapping.path;
    if (name.starts_with("ld-linux") || name.starts_with("ld-2.")) {
      files.loader = mapping.path;
      files.loader_begins = mapping.start - mapping.offset;
    }
  }
  if (files.c_library.empty() || files.loader.empty()) return {};
  const auto [known, added] = layouts_.try_emplace(files.c_library + " " + files.loader);
  if (added) known->second = layout_of(files);
  if (!known->second) return {};
  ProcessMemory memory;
  ThreadLayout layout = *known->second;
  layout.list_head += files.loader_begins;
  return start_routines(layout, [&](std::uint64_t address, std::span<std::byte> to) {
    return memory.read(pid, address, to);
  });
}

}  // namespace hwprof::observe
