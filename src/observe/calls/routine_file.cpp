#include "src/observe/calls/routine_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "src/observe/calls/probe_place.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::observe {
namespace {

bool takes_probe(int file, std::uint64_t offset) {
#if defined(__x86_64__)
  std::array<std::uint8_t, kProbedBytes> code{};
  const ssize_t bytes = ::pread(file, code.data(), code.size(), static_cast<off_t>(offset));
  return bytes > 0 && x86_takes_probe(std::span(code).first(static_cast<std::size_t>(bytes)));
#else
  return true;
#endif
}

Jumps jumps_of(int file, const ElfSegment& segment, std::uint64_t offset, std::uint64_t size) {
#if defined(__x86_64__)
  constexpr std::uint64_t kMostBytes = 1U << 14U;
  if (size == 0 || size > kMostBytes) return {};
  std::vector<std::uint8_t> code(size);
  if (::pread(file, code.data(), code.size(), static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(size)) {
    return {};
  }
  const auto begin = static_cast<std::int64_t>(segment.offset - offset);
  const auto found = x86_jumps(code, begin, begin + static_cast<std::int64_t>(segment.file_size));
  return {found.direct, found.by_table};
#else
  return {};
#endif
}

}  // namespace

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
  if (!file.valid() || holds_foreign_code(file.get())) return true;
  const auto found = read_routines(std::move(file), path);
  if (found && !found->unseen.empty()) return true;
  return found && std::any_of(found->entries.begin(), found->entries.end(), [&](const auto& entry) {
           return entry.routine.blas && (entry.routine.timed || !products_alone);
         });
}

bool answers_for_blas(int file) {
  const ElfFile elf(file);
  bool answers = false, has_routines = false;  // a BLAS and LAPACK have an answer of their own
  elf.each_symbol(SHT_DYNSYM, [&](const ElfSymbol& symbol) {
    Routine routine;
    if (!symbol.defined || symbol.type != STT_FUNC) return;
    const std::string_view name = symbol.name;
    answers = answers || name == "xerbla_" || name == "cblas_xerbla";
    has_routines = has_routines || find_routine(symbol.name, routine);
  });
  return answers && !has_routines;
}

std::optional<RoutineFile> read_routines(UniqueFd file, const std::string& path) {
  const auto version = version_of(file.get()).value_or(FileVersion{});
  RoutineFile found{path, file_id(file.get()), std::move(file), version, {}, {}};
  const ElfFile elf(found.file.get());
  if (!elf.is_native()) return std::nullopt;
  const std::vector<ElfSegment> segments = elf.segments();
  std::unordered_set<std::uint64_t> seen;
  bool cut = false;
  std::string chosen, unusual, unprobed;  // a routine of each kind
  // The dynamic symbols first: theirs is the name to show where one place has several.
  for (const GElf_Word table : {GElf_Word{SHT_DYNSYM}, GElf_Word{SHT_SYMTAB}}) {
    elf.each_symbol(table, [&](const ElfSymbol& symbol) {
      Routine routine;
      const bool code = symbol.type == STT_FUNC || symbol.type == STT_NOTYPE;
      bool bare = false;
      if (!symbol.defined || (!code && symbol.type != STT_GNU_IFUNC) ||
          !find_spelling(symbol.name, routine, bare)) {
        return;
      }
      if (routine.lapack) return;  // a library that calls its own would be probed at each
      // A probe does not see what a plan was made for.
      if (routine.prepared == Prepared::kPlan || routine.prepared == Prepared::kPlanner) return;
      const auto holds = [&](const ElfSegment& segment) {
        return segment.executable && segment.holds_address(symbol.address);
      };
      const auto segment = std::find_if(segments.begin(), segments.end(), holds);
      if (segment == segments.end()) return;
      if (bare) {
        if (table == SHT_DYNSYM && routine.blas) unusual = symbol.name;
        return;
      }
      if (!code) {
        chosen = symbol.name;
        return;
      }
      const std::uint64_t offset = symbol.address - segment->address + segment->offset;
      if (!seen.insert(offset).second) return;
      if (!takes_probe(found.file.get(), offset)) {
        unprobed = symbol.name;
        return;
      }
      if (found.entries.size() >= kMostEntryPoints) {
        cut = true;
        return;
      }
      found.entries.push_back({symbol.name, offset, symbol.size, routine,
                               jumps_of(found.file.get(), *segment, offset, symbol.size)});
    });
  }
  if (cut) {
    found.unseen.push_back(fmt::format(
        "has more routines than a BLAS can have: the first {} are watched", found.entries.size()));
  }
  // Where those begin that are called, the file does not say.
  if (!chosen.empty()) {
    found.unseen.push_back(fmt::format(
        "chooses its {} when a program starts (IFUNC): calls of it are not seen", chosen));
  }
  if (!unprobed.empty()) {
    found.unseen.push_back(fmt::format(
        "has {} begin with an instruction at which the kernel sets no uprobe: calls of it are not "
        "seen",
        unprobed));
  }
  // As Fortran compilers of IBM and HP name routines; beside usual names it is a second one.
  if (!unusual.empty() && found.entries.empty()) {
    found.unseen.push_back(fmt::format(
        "has {}, but no {}_: whether it is that of a BLAS is not known", unusual, unusual));
  }
  if (found.entries.empty() && found.unseen.empty()) return std::nullopt;
  return found;
}

}  // namespace hwprof::observe
