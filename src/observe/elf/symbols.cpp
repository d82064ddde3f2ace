#include "src/observe/elf/symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/observe/elf/code_units.h"
#include "src/observe/elf/debug_file.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::observe {
namespace {

// A symbol without a size (hand-written assembly) reaches at most this far.
constexpr GElf_Word kUnsizedReachBytes = 64U << 10U;

struct DwflEnd {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

struct ElfCode::State {
  UniqueFd file;
  std::string path, build_id;
  struct stat opened {};
  std::vector<ElfSegment> segments;
  std::unique_ptr<Dwfl, DwflEnd> dwfl;
  Dwfl_Module* module = nullptr;
  GElf_Addr bias = 0;
  CodeUnits units;
  bool tried = false, usable = false;

  [[nodiscard]] const ElfSegment* segment(std::uint64_t file_offset) const {
    const auto found =
        std::find_if(segments.begin(), segments.end(),
                     [&](const ElfSegment& segment) { return segment.holds_offset(file_offset); });
    return found != segments.end() ? &*found : nullptr;
  }

  // What elfutils asks back, with the State in `user`. It would map the file, and wait where a pipe
  // is named as the debug file.
  static int give_file(Dwfl_Module* /*module*/, void** user, const char* /*name*/,
                       Dwarf_Addr /*base*/, char** path, Elf** elf) {
    const auto& state = *static_cast<const State*>(*user);
    const int copy = ::fcntl(state.file.get(), F_DUPFD_CLOEXEC, 0);  // libdwfl closes it
    if (copy < 0) return -1;
    *elf = elf_begin(copy, ELF_C_READ, nullptr);
    *path = ::strdup(state.path.c_str());  // libdwfl frees it
    return copy;
  }
  // Asked twice: for the debug file, and for what several debug files share (dwz), whose name comes
  // without a checksum.
  static int give_debug_file(Dwfl_Module* module, void** user, const char* /*name*/,
                             Dwarf_Addr /*base*/, const char* path, const char* link,
                             GElf_Word checksum, char** found) {
    DebugFileWanted wanted{.beside = path != nullptr ? path : "",
                           .build_id = static_cast<const State*>(*user)->build_id,
                           .link = link != nullptr ? link : "",
                           .link_checksum = checksum};
    if (link != nullptr && checksum == 0) {
      GElf_Addr ignored = 0;
      Dwarf* dwarf = dwfl_module_getdwarf(module, &ignored);
      const char* name = nullptr;
      const void* id = nullptr;
      const ssize_t bytes = dwarf != nullptr ? dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) : 0;
      if (bytes <= 0) return -1;
      wanted.build_id =
          build_id_text({static_cast<const unsigned char*>(id), static_cast<std::size_t>(bytes)});
    }
    DebugFile debug = find_debug_file(wanted);
    if (debug.file.valid()) *found = ::strdup(debug.path.c_str());
    return debug.file.release();
  }

  // Symbols are read when the first is asked for: many files are sampled once.
  bool load() {
    static const Dwfl_Callbacks callbacks = {.find_elf = give_file,
                                             .find_debuginfo = give_debug_file,
                                             .section_address = dwfl_offline_section_address,
                                             .debuginfo_path = nullptr};
    dwfl.reset(dwfl_begin(&callbacks));
    if (dwfl == nullptr || segments.empty()) return false;
    std::uint64_t low = segments.front().address, high = low;
    for (const ElfSegment& one : segments) high = std::max(high, one.address + one.file_size);
    module = dwfl_report_module(dwfl.get(), path.c_str(), low, high);
    void** user = nullptr;
    if (module == nullptr || dwfl_module_info(module, &user, nullptr, nullptr, nullptr, nullptr,
                                              nullptr, nullptr) == nullptr) {
      return false;
    }
    *user = this;
    dwfl_report_end(dwfl.get(), nullptr, nullptr);
    return dwfl_module_getelf(module, &bias) != nullptr;
  }
  [[nodiscard]] std::optional<GElf_Addr> address(std::uint64_t file_offset) {
    const ElfSegment* found = segment(file_offset);
    if (found == nullptr) return std::nullopt;
    if (!tried) usable = load();
    tried = true;
    if (!usable) return std::nullopt;
    return file_offset - found->offset + found->address + bias;
  }
};

ElfCode::ElfCode(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfCode::ElfCode(ElfCode&&) noexcept = default;
ElfCode& ElfCode::operator=(ElfCode&&) noexcept = default;
ElfCode::~ElfCode() = default;

Result<ElfCode> ElfCode::open(UniqueFd file, const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (!file.valid() || ::fstat(file.get(), &state->opened) != 0) {
    return environment_error(errno, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  const ElfFile elf(file.get());
  if (!elf.valid()) return environment_error(0, path + " is no ELF file");
  if (!elf.is_native()) {
    return environment_error(0, path + " holds code for another kind of CPU");
  }
  state->build_id = elf.build_id();
  state->segments = elf.segments();
  state->file = std::move(file);
  return ElfCode(std::move(state));
}

std::string ElfCode::symbol(std::uint64_t file_offset) {
  const auto address = state_->address(file_offset);
  if (!address) return "";
  GElf_Off into = 0;
  GElf_Sym symbol{};
  const char* name =
      dwfl_module_addrinfo(state_->module, *address, &into, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr || *name == '\0') return "";
  // dwfl also gives the nearest symbol before a gap: in a stripped file that is anything.
  if (symbol.st_size != 0 ? into >= symbol.st_size : into >= kUnsizedReachBytes) return "";
  const auto type = GELF_ST_TYPE(symbol.st_info);
  if (symbol.st_size == 0 && type == STT_NOTYPE && name[0] == '$') return "";  // $x, $d of arm64
  return demangle(name);
}

std::optional<report::SourceLine> ElfCode::line(std::uint64_t file_offset) {
  const auto address = state_->address(file_offset);
  return address ? state_->units.line(state_->module, *address) : std::nullopt;
}

std::vector<report::SourceLine> ElfCode::lines(std::uint64_t file_offset) {
  const auto address = state_->address(file_offset);
  return address ? state_->units.lines(state_->module, *address)
                 : std::vector<report::SourceLine>();
}

const std::string& ElfCode::build_id() const { return state_->build_id; }

std::uint64_t ElfCode::bytes() const { return static_cast<std::uint64_t>(state_->opened.st_size); }

bool ElfCode::changed() const {
  struct stat now {};
  return ::fstat(state_->file.get(), &now) != 0 || now.st_size != state_->opened.st_size ||
         !same_time(now.st_mtim, state_->opened.st_mtim);
}

int ElfCode::descriptor() const { return state_->file.get(); }

CodeBytes ElfCode::code(std::uint64_t file_offset, std::uint64_t reach) const {
  const ElfSegment* segment = state_->segment(file_offset);
  if (segment == nullptr || changed()) return {};
  const std::uint64_t begin =
      std::max(segment->offset, file_offset > reach ? file_offset - reach : 0);
  // The sums of a file's numbers may go round.
  const std::uint64_t end =
      file_offset + std::min(segment->file_size - (file_offset - segment->offset), reach);
  if (end <= begin) return {};
  CodeBytes code{begin, std::vector<std::byte>(end - begin)};
  std::size_t got = 0;
  while (got < code.bytes.size()) {
    const ssize_t n = retry_interrupted([&] {
      return ::pread(state_->file.get(), &code.bytes[got], code.bytes.size() - got,
                     static_cast<off_t>(begin + got));
    });
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  code.bytes.resize(got);
  return code;
}

std::set<std::uint64_t> ElfCode::yield_slots(std::uint64_t file_offset) const {
  const ElfSegment* segment = state_->segment(file_offset);
  if (segment == nullptr || changed()) return {};
  const ElfFile elf(state_->file.get());
  std::set<std::uint64_t> slots;
  for (const char* name : {"sched_yield", "thrd_yield"}) {
    for (const std::uint64_t slot : elf.slots_of(name))
      slots.insert(slot - segment->address + segment->offset);
  }
  return slots;
}

std::optional<std::uint64_t> ElfCode::function_begin(std::uint64_t file_offset) const {
  const ElfSegment* segment = state_->segment(file_offset);
  if (segment == nullptr || changed()) return std::nullopt;
  const std::uint64_t address = file_offset - segment->offset + segment->address;
  const auto begin = ElfFile(state_->file.get()).function_begin(address);
  if (!begin || *begin < segment->address) return std::nullopt;
  return *begin - segment->address + segment->offset;
}

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace hwprof::observe
