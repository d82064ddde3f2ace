#include "src/observe/samples/images.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/samples/kernel_entry.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::observe {
namespace {

// Descriptors are kept, since a path may name another file by the end of the program; they must not
// use up those of the process.
constexpr std::size_t kMaximumOpenFiles = 400;
constexpr std::size_t kMostGenerations = 10'000;
constexpr std::uint64_t kMostLiveBytes = 64U << 20U;
constexpr std::size_t kMostKnownMappings = 100'000;

// Names of mappings that are no files, though some begin with a slash.
bool is_generated(const std::string& path) {
  return path.empty() || path[0] != '/' || path.starts_with("//") || path.starts_with("/memfd:") ||
         path.starts_with("/dev/zero") || path.starts_with("/SYSV") ||
         path.starts_with("/anon_hugepage");
}

std::string label_of(const std::string& path) {
  for (const char* own : {kVdsoCode, kProbeCode}) {
    if (path == own) return own;
  }
  return is_generated(path) ? kGeneratedCode : path;
}

enum class Match { kSame, kOther, kGone };

// Btrfs and overlayfs give files other device numbers than mappings; the inode stays.
Match compare(int file, const FileId& id) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return Match::kGone;
  return status.st_ino == id.inode ? Match::kSame : Match::kOther;
}

bool is_named(const std::string& path, std::initializer_list<std::string_view> beginnings) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

unsigned user_of(int pid) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 ? status.st_uid : ::geteuid();
}

}  // namespace

Images::Images() {
  for (const char* pseudo : {kKernelCode, kUnknownCode, kFaultCode})
    images_.push_back({pseudo, {}, {}, 0, 0, {}});
}

// The file that was mapped, not what its name may stand for by now. map_files gives it even when it
// was deleted, to root alone; /proc/PID/root holds for programs in other mount namespaces; the
// plain name when the process has ended already.
std::optional<ElfCode> Images::open_file(int pid, const Mapping& mapping) {
  if (open_files_ >= kMaximumOpenFiles) {
    notes_.insert(fmt::format("more than {} files were executed: the others stay without symbols",
                              kMaximumOpenFiles));
    return std::nullopt;
  }
  using Kind = ForeignFile::Kind;
  std::string reason = "it is gone";
  for (const auto kind :
       {std::optional(Kind::kMapped), std::optional(Kind::kInRoot), std::optional<Kind>()}) {
    UniqueFd file = kind ? open_foreign({.kind = *kind,
                                         .pid = pid,
                                         .start = mapping.start,
                                         .end = mapping.end,
                                         .path = mapping.path})
                         : open_regular_file(mapping.path);
    if (!file.valid()) {
      if (!kind && errno != ENOENT) reason = std::strerror(errno);
      continue;
    }
    if (compare(file.get(), mapping.file) != Match::kSame) {
      reason = "another file has its name now";
      continue;
    }
    auto code = ElfCode::open(std::move(file), mapping.path);
    if (code) {
      ++open_files_;
      return std::move(*code);
    }
    return std::nullopt;  // no ELF file: code that a program generated into a file
  }
  notes_.insert(
      fmt::format("{} cannot be read: {}; its symbols are not known", mapping.path, reason));
  return std::nullopt;
}

// Each mapping of generated code is its own, since what lies there is. A program may make and free
// them for hours: those beyond the budget are one, whose code nobody reads.
std::uint32_t Images::generated(int pid, const Mapping& mapping, const std::string& label) {
  if (const auto known = generations_.find(mapping.generation); known != generations_.end())
    return known->second;
  if (generations_.size() >= kMostGenerations) {
    notes_.insert(fmt::format(
        "code was generated in more than {} places: the loops of the others are not judged",
        kMostGenerations));
    const auto [rest, added] = files_.emplace(FileKey{{}, label}, images_.size());
    if (added) images_.push_back({label, {}, {}, pid, user_of(pid), {}});
    return rest->second;
  }
  const auto number = static_cast<std::uint32_t>(images_.size());
  generations_.emplace(mapping.generation, number);
  images_.push_back({label, {}, LiveCode{}, pid, user_of(pid), {}});
  return number;
}

std::uint32_t Images::image_of(int pid, const Mapping& mapping) {
  if (const auto known = known_mappings_.find(mapping.generation); known != known_mappings_.end())
    return known->second;
  if (known_mappings_.size() >= kMostKnownMappings) known_mappings_.clear();
  const std::uint32_t number = find_image(pid, mapping);
  known_mappings_.emplace(mapping.generation, number);
  return number;
}

std::uint32_t Images::find_image(int pid, const Mapping& mapping) {
  if (is_generated(mapping.path)) return generated(pid, mapping, label_of(mapping.path));
  const auto [known, added] = files_.emplace(FileKey{mapping.file, mapping.path},
                                             static_cast<std::uint32_t>(images_.size()));
  if (added) images_.push_back({mapping.path, open_file(pid, mapping), {}, pid, user_of(pid), {}});
  // A file that cannot be read, or holds no ELF: its mapping is read like generated code.
  return images_[known->second].file ? known->second : generated(pid, mapping, mapping.path);
}

// The file is read once, when something of it is asked for that needs its callers.
Images::Unwinding Images::unwinding(int pid, const Mapping& mapping, std::uint64_t address) {
  if (mapping.path == kVdsoCode) {
    if (!vdso_) vdso_ = std::make_unique<UnwindTable>(UnwindTable::of_vdso(unwind_budget_));
    return {vdso_.get(), address - mapping.start};
  }
  Image& image = images_[image_of(pid, mapping)];
  if (!image.file) return {};
  if (!image.unwinding) {
    const int file = image.file->changed() ? -1 : image.file->descriptor();
    image.unwinding = std::make_unique<UnwindTable>(file, unwind_budget_);
  }
  return {image.unwinding.get(), address - mapping.start + mapping.offset};
}

CodePlace Images::locate(int pid, const Mapping& mapping, std::uint64_t address, bool executed) {
  const std::uint32_t number = image_of(pid, mapping);
  Image& image = images_[number];
  if (image.file) return {number, address - mapping.start + mapping.offset};
  if (executed && image.live && live_bytes_ < kMostLiveBytes) {
    const std::uint64_t before = image.live->bytes();
    image.live->read(pid, address, mapping.start, mapping.end);
    live_bytes_ += image.live->bytes() - before;
    if (live_bytes_ >= kMostLiveBytes) {
      notes_.insert(
          fmt::format("more than {} MiB of code were generated: the loops in the rest are "
                      "not judged",
                      kMostLiveBytes >> 20U));
    }
  }
  return {number, address};
}

// Where the bytes are known and are no system call. Probes stand on the first instruction of a
// function, and in code of their own: what the kernel does there is work for hwprof.
bool Images::is_fault(CodePlace returns_to) {
  Image& image = images_.at(returns_to.image);
  CodeBytes code;
  if (image.file) {
    if (image.file->function_begin(returns_to.at) == returns_to.at) return false;
    code = image.file->code(returns_to.at, kSystemCallBytes);
  } else if (image.live && image.path != kProbeCode) {
    code = image.live->around(returns_to.at);
  }
  if (returns_to.at < code.address + kSystemCallBytes ||
      returns_to.at > code.address + code.bytes.size())
    return false;
  return !ends_in_system_call(std::span(code.bytes).first(returns_to.at - code.address));
}

CodePlace Images::kernel(CodePlace returns_to) {
  const auto known = kernel_places_.find(returns_to);
  if (known != kernel_places_.end()) return known->second;
  kernel_callers_.push_back(returns_to);
  const std::uint32_t image = is_fault(returns_to) ? kFaults : kKernel;
  return kernel_places_.emplace(returns_to, CodePlace{image, kernel_callers_.size()}).first->second;
}

const std::string& Images::path(CodePlace place) const { return images_.at(place.image).path; }

const JitMap& Images::jit_map(const Image& image) {
  const auto [known, added] = jit_maps_.try_emplace(image.pid);
  if (added) {
    auto loaded = JitMap::load(fmt::format("/tmp/perf-{}.map", image.pid), image.user);
    if (loaded) {
      known->second = std::move(*loaded);
    } else if (loaded.error().code != ENOENT) {
      notes_.insert(loaded.error().what);
    }
  }
  return known->second;
}

std::string Images::symbol(CodePlace place) {
  if (is_kernel(place)) {
    if (place.at == 0 || place.at > kernel_callers_.size()) return "";
    const CodePlace caller = kernel_callers_.at(place.at - 1);
    const std::string name = symbol(caller), file = path(caller);
    return name.empty() ? file.substr(file.rfind('/') + 1) : name;
  }
  Image& image = images_.at(place.image);
  if (image.file) return image.file->symbol(place.at);
  return image.path == kGeneratedCode ? jit_map(image).symbol(place.at) : "";
}

std::optional<report::SourceLine> Images::line(CodePlace place) {
  Image& image = images_.at(place.image);
  return image.file ? image.file->line(place.at) : std::nullopt;
}

std::vector<report::SourceLine> Images::lines(CodePlace place) {
  Image& image = images_.at(place.image);
  return image.file ? image.file->lines(place.at) : std::vector<report::SourceLine>();
}

std::optional<report::PlacedStacks::Object> Images::object(CodePlace place) const {
  const Image& image = images_.at(place.image);
  if (!image.file) return std::nullopt;
  return report::PlacedStacks::Object{image.path, image.file->build_id(), image.file->bytes()};
}

CodePlace Images::in_program(CodePlace place) const {
  const bool has_caller = is_kernel(place) && place.at > 0 && place.at <= kernel_callers_.size();
  return has_caller ? kernel_callers_.at(place.at - 1) : place;
}

bool Images::is_thread_runtime(CodePlace place) const {
  return is_named(path(place),
                  {"libgomp.", "libgomp-", "libomp.", "libomp-", "libiomp5", "libtbb."});
}

bool Images::is_interpreter(CodePlace place) const {
  return is_named(path(place), {"python3", "libpython3"});
}

bool Images::is_c_library(CodePlace place) const {
  return is_named(path(place), {"libc.so", "libc-", "libpthread", "libstdc++", "ld-linux"});
}

std::optional<std::uint64_t> Images::function_begin(CodePlace place) {
  Image& image = images_.at(place.image);
  return image.file ? image.file->function_begin(place.at) : std::nullopt;
}

// Of generated code nothing is known but its bytes.
YieldCalls Images::yields_seen_from(Image& image, CodePlace place) {
  if (!image.file) return {};
  const auto is_slot = [&image, place](std::uint64_t slot) {
    if (!image.yield_slots) image.yield_slots = image.file->yield_slots(place.at);
    return image.yield_slots->contains(slot);
  };
  const auto is_function = [&image, is_slot](std::uint64_t function) {
    constexpr std::uint64_t kEntryBytes = 32;
    const CodeBytes code = image.file->code(function, kEntryBytes);
    if (code.address > function || function - code.address >= code.bytes.size()) return false;
    return begins_yield(std::span(code.bytes).subspan(function - code.address), function, is_slot);
  };
  return {is_slot, is_function};
}

LoopJudgement Images::judge(CodePlace place) {
  Image& image = images_.at(place.image);
  CodeBytes code;
  if (image.file) {
    code = image.file->code(place.at, kLoopReachBytes);
    if (image.file->changed()) {
      notes_.insert(image.path + " was written to while it was observed: its loops are not judged");
    }
  } else if (image.live) {
    code = image.live->around(place.at);
  }
  return judge_loop(code.bytes, code.address, place.at, yields_seen_from(image, place),
                    is_thread_runtime(place) ? Waiter::kThreadRuntime : Waiter::kAny);
}

std::string Images::spent() const {
  return fmt::format("{} of {} files open, {} KiB of {} MiB of generated code in {} of {} places",
                     open_files_, kMaximumOpenFiles, live_bytes_ >> 10U, kMostLiveBytes >> 20U,
                     generations_.size(), kMostGenerations);
}

}  // namespace hwprof::observe
