#include "src/observe/unwind/unwind_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/clock.h"
#include "src/base/unique_fd.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/unwind/registers.h"

namespace hwprof::observe {
namespace {

// _start, and the dynamic loader's, which calls one function and jumps to the program.
constexpr std::uint64_t kEntryBytes = 64;
constexpr std::size_t kMostOperations = 256;  // of an expression

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct CfiEnd {
  void operator()(Dwarf_CFI* cfi) const { dwarf_cfi_end(cfi); }
};
struct DwarfEnd {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};
struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};

bool has_section(Elf* elf, std::string_view name) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    const char* text = gelf_getshdr(section, &header) != nullptr
                           ? elf_strptr(elf, names, header.sh_name)
                           : nullptr;
    if (text != nullptr && name == text) return true;
  }
  return false;
}

std::optional<std::int32_t> small(std::uint64_t number) {
  const auto value = static_cast<std::int64_t>(number);
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return static_cast<std::int32_t>(value);
}

std::int32_t keep(UnwindRow& row, std::span<const Dwarf_Op> code) {
  row.expressions.emplace_back(code.begin(), code.end());
  return static_cast<std::int32_t>(row.expressions.size()) - 1;
}

bool take_cfa(UnwindRow& row, Dwarf_Frame* frame) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 || count > kMostOperations)
    return false;
  const bool by_number = ops[0].atom == DW_OP_bregx;
  if (count == 1 && (by_number || (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31))) {
    const std::uint64_t number = by_number ? ops[0].number : ops[0].atom - DW_OP_breg0;
    const auto offset = small(by_number ? ops[0].number2 : ops[0].number);
    if (number >= kRegisters || !offset) return false;
    row.cfa_register = static_cast<std::uint8_t>(number);
    row.cfa_offset = *offset;
    return true;
  }
  row.cfa_by_expression = true;
  return keep(row, {ops, count}) == 0;
}

// elfutils describes each rule as an expression (dwarf_frame_register, libdw.h).
RegisterRule rule_of(UnwindRow& row, Dwarf_Frame* frame, std::size_t number) {
  std::array<Dwarf_Op, 3> room{};
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), room.data(), &ops, &count) != 0 ||
      count > kMostOperations)
    return {Rule::kNotUnderstood};
  if (count == 0) return {ops == room.data() ? Rule::kUndefined : Rule::kSame};
  const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
  const std::size_t steps = count - (is_value ? 1 : 0);
  if (steps == 1 && ops[0].atom == DW_OP_regx && ops[0].number < kRegisters)
    return {Rule::kRegister, static_cast<std::int32_t>(ops[0].number)};
  if (steps == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom < DW_OP_reg0 + kRegisters)
    return {Rule::kRegister, ops[0].atom - DW_OP_reg0};
  const bool from_cfa = steps > 0 && ops[0].atom == DW_OP_call_frame_cfa;
  if (from_cfa && steps == 1) return {is_value ? Rule::kIsCfa : Rule::kAtCfa};
  if (from_cfa && steps == 2 && ops[1].atom == DW_OP_plus_uconst) {
    if (const auto offset = small(ops[1].number))
      return {is_value ? Rule::kIsCfa : Rule::kAtCfa, *offset};
  }
  return {is_value ? Rule::kIsExpression : Rule::kAtExpression, keep(row, {ops, steps})};
}

}  // namespace

// Intel SDM, volume 2, CALL: E8 and a distance, or FF /2 with an operand of one to six bytes.
bool ends_in_call(std::span<const std::byte> code) {
  const auto at = [code](std::size_t back) {
    return back <= code.size() ? std::to_integer<unsigned>(code[code.size() - back]) : 0U;
  };
  if (at(5) == 0xe8) return true;
  for (const std::size_t length : {2U, 3U, 4U, 6U, 7U}) {
    const unsigned how = at(length - 1), mode = how >> 6U, operand = how & 7U;
    if (at(length) != 0xff || ((how >> 3U) & 7U) != 2) continue;
    std::size_t expected = 2 + (mode != 3 && operand == 4 ? 1 : 0);
    if (mode == 1) expected += 1;
    if (mode == 2 || (mode == 0 && operand == 5)) expected += 4;
    if (expected == length) return true;
  }
  return false;
}

struct UnwindTable::State {
  UnwindBudget* budget = nullptr;
  int descriptor = -1;  // -1: the vdso
  std::unique_ptr<Elf, ElfEnd> elf;
  std::vector<ElfSegment> segments;
  std::uint64_t entry = 0;
  bool begun = false;
  std::unique_ptr<Dwarf_CFI, CfiEnd> frames;
  std::unique_ptr<Dwarf, DwarfEnd> dwarf;             // of a file that has .debug_frame
  std::unordered_map<std::uint64_t, UnwindRow> rows;  // by file offset
  std::unordered_map<std::uint64_t, bool> calls;

  [[nodiscard]] std::optional<std::uint64_t> address(std::uint64_t file_offset) const {
    for (const ElfSegment& segment : segments) {
      if (segment.holds_offset(file_offset)) return file_offset - segment.offset + segment.address;
    }
    return std::nullopt;
  }
  void begin();
  UnwindRow read(std::uint64_t address);
};

// Of many files nothing but a name is ever asked for.
void UnwindTable::State::begin() {
  begun = true;
  if (elf == nullptr) return;
  frames.reset(dwarf_getcfi_elf(elf.get()));
  if (has_section(elf.get(), ".debug_frame"))
    dwarf.reset(dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
}

UnwindRow UnwindTable::State::read(std::uint64_t address) {
  UnwindRow row;
  Dwarf_Frame* found = nullptr;
  if (frames == nullptr || dwarf_cfi_addrframe(frames.get(), address, &found) != 0) found = nullptr;
  if (found == nullptr && dwarf != nullptr) {
    Dwarf_CFI* debug = dwarf_getcfi(dwarf.get());
    if (debug == nullptr || dwarf_cfi_addrframe(debug, address, &found) != 0) found = nullptr;
  }
  const std::unique_ptr<Dwarf_Frame, Free> frame(found);
  if (frame == nullptr) return row;
  Dwarf_Addr begin = 0, end = 0;
  bool signal = false;
  if (dwarf_frame_info(frame.get(), &begin, &end, &signal) != static_cast<int>(kRip)) return row;
  row.signal_frame = signal;
  row.known = take_cfa(row, frame.get());
  for (std::size_t number = 0; row.known && number < kRegisters; ++number)
    row.registers.at(number) = rule_of(row, frame.get(), number);
  return row;
}

UnwindTable::UnwindTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
UnwindTable::UnwindTable(UnwindTable&&) noexcept = default;
UnwindTable& UnwindTable::operator=(UnwindTable&&) noexcept = default;
UnwindTable::~UnwindTable() = default;

UnwindTable::UnwindTable(int descriptor, UnwindBudget& budget) : state_(std::make_unique<State>()) {
  state_->budget = &budget;
  state_->descriptor = descriptor;
  const ElfFile file(descriptor);
  if (!file.is_native()) return;
  state_->segments = file.segments();
  state_->elf.reset(elf_begin(descriptor, ELF_C_READ, nullptr));
  GElf_Ehdr header;
  if (state_->elf != nullptr && gelf_getehdr(state_->elf.get(), &header) != nullptr)
    state_->entry = header.e_entry;
}

UnwindTable UnwindTable::of_vdso(UnwindBudget& budget) {
  auto state = std::make_unique<State>();
  state->budget = &budget;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what getauxval() gives is an address
  auto* image = reinterpret_cast<char*>(::getauxval(AT_SYSINFO_EHDR));
  elf_version(EV_CURRENT);
  GElf_Ehdr header;
  if (image != nullptr && std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr own;
    std::memcpy(&own, image, sizeof own);
    // Its sections' headers are its last bytes.
    const std::size_t bytes = own.e_shoff + std::size_t{own.e_shnum} * own.e_shentsize;
    state->elf.reset(elf_memory(image, bytes));
    if (state->elf != nullptr && gelf_getehdr(state->elf.get(), &header) != nullptr)
      state->segments.push_back(
          {.offset = 0, .address = 0, .file_size = bytes, .executable = true});
  }
  return UnwindTable(std::move(state));
}

const UnwindRow* UnwindTable::row(std::uint64_t file_offset) {
  State& state = *state_;
  auto found = state.rows.find(file_offset);
  if (found == state.rows.end()) {
    const auto address = state.address(file_offset);
    if (!address || state.budget->spent()) return nullptr;
    const double before = thread_cpu_ns();
    if (!state.begun) state.begin();
    found = state.rows.emplace(file_offset, state.read(*address)).first;
    state.budget->cpu_ns -= thread_cpu_ns() - before;
    --state.budget->rows;
  }
  return found->second.known ? &found->second : nullptr;
}

bool UnwindTable::follows_call(std::uint64_t file_offset) {
  State& state = *state_;
  const auto known = state.calls.find(file_offset);
  if (known != state.calls.end()) return known->second;
  const auto segment = std::find_if(
      state.segments.begin(), state.segments.end(),
      [&](const ElfSegment& one) { return one.executable && one.holds_offset(file_offset); });
  if (segment == state.segments.end() || state.descriptor < 0 || state.budget->spent())
    return false;
  std::array<std::byte, kLongestCall> code{};
  const std::size_t bytes = std::min<std::uint64_t>(code.size(), file_offset - segment->offset);
  const ssize_t got = retry_interrupted([&] {
    return ::pread(state.descriptor, code.data(), bytes, static_cast<off_t>(file_offset - bytes));
  });
  const bool is_call = got == static_cast<ssize_t>(bytes) && ends_in_call({code.data(), bytes});
  state.calls.emplace(file_offset, is_call);
  --state.budget->rows;
  return is_call;
}

bool UnwindTable::is_entry(std::uint64_t file_offset) const {
  const auto address = state_->address(file_offset);
  return address && state_->entry != 0 && *address >= state_->entry &&
         *address - state_->entry < kEntryBytes;
}

}  // namespace hwprof::observe
