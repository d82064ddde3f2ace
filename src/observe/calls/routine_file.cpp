#include "src/observe/calls/routine_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "src/observe/elf/elf_file.h"

namespace hwprof::observe {

bool holds_foreign_code(int file) {
  const ElfFile elf(file);
  if (elf.valid()) return !elf.is_native();
  std::array<char, 2> begin{};
  return ::pread(file, begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()) &&
         std::string_view(begin.data(), begin.size()) == "MZ";
}

std::optional<RoutineFile> open_routine_file(const std::string& path) {
  return read_routines(open_regular_file(path), path);
}

bool may_hold_routines(const std::string& path, bool products_alone) {
  UniqueFd file = open_regular_file(path);
  if (!file.valid()) return true;
  const auto found = read_routines(std::move(file), path);
  return found && std::any_of(found->entries.begin(), found->entries.end(), [&](const auto& entry) {
           return entry.routine.blas && (entry.routine.timed || !products_alone);
         });
}

std::optional<RoutineFile> read_routines(UniqueFd file, const std::string& path) {
  const auto version = version_of(file.get()).value_or(FileVersion{});
  RoutineFile found{path, file_id(file.get()), std::move(file), version, {}, false};
  const ElfFile elf(found.file.get());
  if (!elf.is_native()) return std::nullopt;
  const std::vector<ElfSegment> segments = elf.segments();
  std::unordered_set<std::uint64_t> seen;
  // The dynamic symbols first: theirs is the name to show where one place has several.
  for (const GElf_Word table : {GElf_Word{SHT_DYNSYM}, GElf_Word{SHT_SYMTAB}}) {
    elf.each_symbol(table, [&](const ElfSymbol& symbol) {
      Routine routine;
      if (!symbol.defined || !symbol.function || !find_routine(symbol.name, routine)) return;
      if (routine.lapack) return;  // a library that calls its own would be probed at each
      // A probe does not see what a plan was made for.
      if (routine.prepared == Prepared::kPlan || routine.prepared == Prepared::kPlanner) return;
      const auto holds = [&](const ElfSegment& segment) {
        return segment.executable && segment.holds_address(symbol.address);
      };
      const auto segment = std::find_if(segments.begin(), segments.end(), holds);
      if (segment == segments.end()) return;
      const std::uint64_t offset = symbol.address - segment->address + segment->offset;
      if (!seen.insert(offset).second) return;
      if (found.entries.size() >= kMostEntryPoints) {
        found.cut = true;
        return;
      }
      found.entries.push_back({symbol.name, offset, symbol.size, routine});
    });
  }
  if (found.entries.empty()) return std::nullopt;
  return found;
}

}  // namespace hwprof::observe
