#include "src/observe/elf/code_units.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/observe/elf/symbols.h"

namespace hwprof::observe {
namespace {

// Functions within functions are nested deeper by no compiler; a file may say anything.
constexpr std::size_t kMostInlined = 64;

using Scopes = std::unique_ptr<Dwarf_Die, decltype(&std::free)>;

// What stands around an instruction, innermost first. What libdw gives for an address is, behind an
// inlined function, where that was written; its scopes by the DIE are where it stands.
std::vector<Dwarf_Die> scopes_around(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Die* found = nullptr;
  const int written = dwarf_getscopes(unit, address, &found);
  const Scopes first(found, &std::free);
  if (written <= 0) return {};
  Dwarf_Die innermost = *first;
  found = nullptr;
  const int count = dwarf_getscopes_die(&innermost, &found);
  const Scopes around(found, &std::free);
  return count > 0 ? std::vector<Dwarf_Die>(found, found + count) : std::vector<Dwarf_Die>();
}

std::optional<std::int32_t> number_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(&die, name, &attribute), &value) != 0 ||
      value > static_cast<Dwarf_Word>(std::numeric_limits<std::int32_t>::max()))
    return std::nullopt;
  return static_cast<std::int32_t>(value);
}

std::string name_of_function(Dwarf_Die& die) {
  for (const unsigned linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute attribute;
    const char* name = dwarf_formstring(dwarf_attr_integrate(&die, linkage, &attribute));
    if (name != nullptr && std::string_view(name).starts_with("_Z")) return demangle(name);
  }
  const char* name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

std::int32_t first_line_of(Dwarf_Die& die) {
  int line = 0;
  return dwarf_decl_line(&die, &line) == 0 && line > 0 ? line : 0;
}

}  // namespace

// Units say it themselves where there is no index of addresses (.debug_aranges): Clang writes none.
void CodeUnits::read_ranges(Dwfl_Module* module) {
  ranges_.emplace();
  Unit unit;
  while ((unit.die = dwfl_module_nextcu(module, unit.die, &unit.bias)) != nullptr) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    std::ptrdiff_t next = 0;
    while ((next = dwarf_ranges(unit.die, next, &base, &begin, &end)) > 0)
      ranges_->push_back({begin + unit.bias, end + unit.bias, unit});
  }
  std::sort(ranges_->begin(), ranges_->end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

CodeUnits::Unit CodeUnits::unit_at(Dwfl_Module* module, Dwarf_Addr address) {
  Unit unit;
  unit.die = dwfl_module_addrdie(module, address, &unit.bias);
  if (unit.die != nullptr) return unit;
  if (!ranges_) read_ranges(module);
  const auto behind = std::partition_point(ranges_->begin(), ranges_->end(),
                                           [&](const Range& one) { return one.begin <= address; });
  const bool found = behind != ranges_->begin() && address < std::prev(behind)->end;
  return found ? std::prev(behind)->unit : Unit();
}

std::optional<report::SourceLine> CodeUnits::line(Dwfl_Module* module, Dwarf_Addr address) {
  const Unit unit = unit_at(module, address);
  if (unit.die == nullptr) return std::nullopt;
  Dwarf_Line* line = dwarf_getsrc_die(unit.die, address - unit.bias);
  const char* file = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
  int number = 0;
  if (file == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return std::nullopt;
  return report::SourceLine{
      .file = file, .function = {}, .line = number, .language = report::Language::kNative};
}

std::vector<report::SourceLine> CodeUnits::lines(Dwfl_Module* module, Dwarf_Addr address) {
  auto innermost = line(module, address);
  if (!innermost) return {};
  std::vector<report::SourceLine> lines = {*std::move(innermost)};
  const Unit unit = unit_at(module, address);
  Dwarf_Files* files = nullptr;
  for (Dwarf_Die& scope : scopes_around(unit.die, address - unit.bias)) {
    const int tag = dwarf_tag(&scope);
    if (tag == DW_TAG_subprogram) lines.back().first_line = first_line_of(scope);
    if (tag == DW_TAG_subprogram || lines.size() > kMostInlined) break;
    if (tag != DW_TAG_inlined_subroutine) continue;
    const auto file = number_of(scope, DW_AT_call_file), number = number_of(scope, DW_AT_call_line);
    if (!file || !number) break;
    if (files == nullptr && dwarf_getsrcfiles(unit.die, &files, nullptr) != 0) break;
    const char* name = dwarf_filesrc(files, static_cast<std::size_t>(*file), nullptr, nullptr);
    if (name == nullptr) break;
    lines.back().function = name_of_function(scope);
    lines.back().first_line = first_line_of(scope);
    lines.push_back(
        {.file = name, .function = {}, .line = *number, .language = report::Language::kNative});
  }
  return lines;
}

}  // namespace hwprof::observe
