// What samples point into: each file, each mapping of generated code, the kernel, with a number.
// While the program runs it opens files and copies generated code; afterwards it names and judges.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/observe/elf/symbols.h"
#include "src/observe/proc/address_space.h"
#include "src/observe/samples/generated_code.h"
#include "src/observe/samples/wait.h"
#include "src/observe/unwind/unwind_table.h"

namespace hwprof::observe {

// An instruction, wherever and in however many processes it was mapped.
struct CodePlace {
  std::uint32_t image = 0;
  std::uint64_t at = 0;  // file offset; in code without a file the address

  auto operator<=>(const CodePlace&) const = default;  // NOLINT(modernize-use-nullptr)
};

class Images {
 public:
  Images();
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  CodePlace kernel() const { return {kKernel, 0}; }  // on nobody's behalf
  // `returns_to`: where the program goes on.
  CodePlace kernel(CodePlace returns_to);
  CodePlace unknown(std::uint64_t address) const { return {kUnknown, address}; }
  // `executed`: hit itself, not as a caller; its bytes will be wanted.
  CodePlace locate(int pid, const Mapping& mapping, std::uint64_t address, bool executed);

  [[nodiscard]] const std::string& path(CodePlace place) const;
  std::string symbol(CodePlace place);  // in the kernel: of who called it, or its file
  std::optional<report::SourceLine> line(CodePlace place);
  // As ElfCode::lines().
  std::vector<report::SourceLine> lines(CodePlace place);
  // The file; absent of code that stands in none.
  [[nodiscard]] std::optional<report::PlacedStacks::Object> object(CodePlace place) const;
  LoopJudgement judge(CodePlace place);  // of its loop; the kernel: none
  // In the kernel: whose code called it; else `place` itself.
  [[nodiscard]] CodePlace in_program(CodePlace place) const;
  [[nodiscard]] static bool is_kernel(CodePlace place) {
    return place.image == kKernel || place.image == kFaults;
  }
  // Behind one: not an interrupt or a page fault.
  [[nodiscard]] static bool is_system_call(CodePlace place) { return place.image == kKernel; }
  // Who waits in the C library is its caller's to say; a run-time system of threads has helpers of
  // its own.
  [[nodiscard]] bool is_c_library(CodePlace place) const;
  [[nodiscard]] bool is_thread_runtime(CodePlace place) const;
  [[nodiscard]] bool is_interpreter(CodePlace place) const;  // Python's own code
  std::optional<std::uint64_t> function_begin(CodePlace place);

  // Of the code at `address`, and where that is in it; without a table where it lies in no file.
  struct Unwinding {
    UnwindTable* table = nullptr;
    std::uint64_t at = 0;
  };
  Unwinding unwinding(int pid, const Mapping& mapping, std::uint64_t address);

  // What could not be read, a sentence each.
  [[nodiscard]] const std::set<std::string>& notes() const { return notes_; }
  // Of the budgets of files and of generated code, in words.
  [[nodiscard]] std::string spent() const;

 private:
  // The first images: no files.
  enum Pseudo : std::uint32_t { kKernel, kUnknown, kFaults };
  struct Image {
    std::string path;
    std::optional<ElfCode> file;
    std::optional<LiveCode> live;
    int pid = 0;  // first seen in
    unsigned user = 0;
    std::optional<std::set<std::uint64_t>> yield_slots;  // absent: not yet asked for
    std::unique_ptr<UnwindTable> unwinding = nullptr;    // likewise
  };
  struct FileKey {
    FileId id;
    std::string path;
    auto operator<=>(const FileKey&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  std::uint32_t generated(int pid, const Mapping& mapping, const std::string& label);
  std::uint32_t image_of(int pid, const Mapping& mapping);
  std::uint32_t find_image(int pid, const Mapping& mapping);
  std::optional<ElfCode> open_file(int pid, const Mapping& mapping);
  const JitMap& jit_map(const Image& image);
  [[nodiscard]] bool is_fault(CodePlace returns_to);
  YieldCalls yields_seen_from(Image& image, CodePlace place);

  std::vector<Image> images_;
  std::size_t open_files_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::vector<CodePlace> kernel_callers_;
  std::map<CodePlace, CodePlace> kernel_places_;  // `at`: number in kernel_callers_, from 1
  std::map<FileKey, std::uint32_t> files_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_mappings_;  // by generation
  std::map<std::uint64_t, std::uint32_t> generations_;               // of code without a file
  std::map<int, JitMap> jit_maps_;                                   // by process
  UnwindBudget unwind_budget_;
  std::unique_ptr<UnwindTable> vdso_;
  std::set<std::string> notes_;
};

}  // namespace hwprof::observe
