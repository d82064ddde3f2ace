#include "src/observe/python/interpreter.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/proc/maps.h"

namespace hwprof::observe {
namespace {

// map_files is root's alone; what a path stands for by now may be another file: what is read by its
// symbols is then no Python.
UniqueFd open_mapped(pid_t pid, const Mapped& mapped) {
  using Kind = ForeignFile::Kind;
  for (const Kind kind : {Kind::kMapped, Kind::kInRoot}) {
    UniqueFd file = open_foreign({.kind = kind,
                                  .pid = pid,
                                  .start = mapped.start,
                                  .end = mapped.start + mapped.length,
                                  .path = mapped.path});
    if (file.valid()) return file;
  }
  return open_regular_file(mapped.path);
}

PythonInterpreter interpreter_at(std::uint32_t version, const PythonInterpreter& places,
                                 const ReadMemory& memory) {
  PythonInterpreter found = places;
  std::vector<std::byte> told(kDebugOffsetsBytes);
  if (!memory(places.runtime, told)) told.clear();
  found.name = "Python " + python_version_text(version);
  found.layout = python_layout(version, told);
  return found;
}

// "python3.11", "libpython3.11.so.1.0"; not "libboost_python311.so".
bool is_named_interpreter(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("python3") || name.starts_with("libpython3");
}

}  // namespace

bool Interpreters::may_hold(const std::string& path) {
  return path.find("python", path.rfind('/') + 1) != std::string::npos;
}

const Interpreters::File& Interpreters::file_of(pid_t pid, const Mapped& mapped) {
  const auto [known, added] = files_.try_emplace(mapped.file);
  File& file = known->second;
  if (!added) return file;
  const UniqueFd descriptor = open_mapped(pid, mapped);
  if (!descriptor.valid()) return file;
  const ElfFile elf(descriptor.get());
  if (!elf.valid() || !elf.is_native()) return file;
  for (const ElfSegment& segment : elf.segments())
    if (segment.holds_offset(mapped.offset))
      file.address = segment.address + (mapped.offset - segment.offset);
  Symbols symbols;
  elf.each_symbol(SHT_DYNSYM, [&](const ElfSymbol& symbol) {
    if (!symbol.defined) return;
    const std::string_view name = symbol.name;
    if (name == "_PyRuntime") symbols.runtime = symbol.address;
    if (name == "Py_Version") symbols.version = symbol.address;
    if (name == "PyCode_Type") symbols.code_type = symbol.address;
    if (name != "_PyEval_EvalFrameDefault") return;
    symbols.eval = symbol.address;
    symbols.eval_bytes = symbol.size;
  });
  file.older = symbols.runtime != 0 && symbols.version == 0;
  if (symbols.runtime != 0 && symbols.version != 0 && symbols.code_type != 0)
    file.symbols = symbols;
  return file;
}

std::optional<PythonInterpreter> Interpreters::of(pid_t pid, const ReadMemory& memory) {
  const std::vector<Mapped> code = mapped_code(pid, read_maps(pid).value_or(""));
  std::optional<PythonInterpreter> nameless;
  for (std::size_t i = 0; i < code.size(); ++i) {
    // The program may be an interpreter whatever its name.
    if (i > 0 && !may_hold(code[i].path)) continue;
    const File& file = file_of(pid, code[i]);
    if (file.older) return PythonInterpreter{.name = "a Python before 3.11", .layout = {}};
    if (!file.symbols && is_named_interpreter(code[i].path))
      nameless = PythonInterpreter{.name = "a Python that exports no symbols", .layout = {}};
    if (!file.symbols) continue;
    const Symbols& symbols = *file.symbols;
    const std::uint64_t bias = code[i].start - file.address;
    const auto version = read_word<std::uint32_t>(memory, symbols.version + bias);
    if (!version) return std::nullopt;
    return interpreter_at(*version,
                          {.name = {},
                           .layout = {},
                           .runtime = symbols.runtime + bias,
                           .code_type = symbols.code_type + bias,
                           .eval_begin = symbols.eval + bias,
                           .eval_end = symbols.eval + bias + symbols.eval_bytes},
                          memory);
  }
  return nameless;
}

}  // namespace hwprof::observe
