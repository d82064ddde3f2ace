#include "src/observe/samples/images.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::observe {
namespace {

// Descriptors are kept, since a path may name another file by the end of the program; they must not
// use up those of the process.
constexpr std::size_t kMaximumOpenFiles = 400;

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

unsigned user_of(int pid) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 ? status.st_uid : ::geteuid();
}

}  // namespace

Images::Images() {
  images_.push_back({kKernelCode, {}, {}, 0, 0});
  images_.push_back({kUnknownCode, {}, {}, 0, 0});
}

// The file that was mapped, not what its name may stand for by now. map_files gives it even when it
// was deleted, to root alone; /proc/PID/root holds for programs in other mount namespaces; the
// plain name when the process has ended already.
std::optional<ElfCode> Images::open_file(int pid, const Mapping& mapping) {
  if (images_.size() > kMaximumOpenFiles) {
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
    if (code) return std::move(*code);
    return std::nullopt;  // no ELF file: code that a program generated into a file
  }
  notes_.insert(
      fmt::format("{} cannot be read: {}; its symbols are not known", mapping.path, reason));
  return std::nullopt;
}

std::uint32_t Images::image_of(int pid, const Mapping& mapping) {
  const auto next = static_cast<std::uint32_t>(images_.size());
  if (is_generated(mapping.path)) {
    const auto [known, added] = generations_.emplace(mapping.generation, next);
    if (added) {
      images_.push_back({label_of(mapping.path), {}, LiveCode{}, pid, user_of(pid)});
    }
    return known->second;
  }
  const auto [known, added] = files_.emplace(FileKey{mapping.file, mapping.path}, next);
  if (added) {
    images_.push_back({mapping.path, open_file(pid, mapping), {}, pid, user_of(pid)});
  } else if (images_[known->second].file) {
    return known->second;
  }
  // A file that cannot be read, or holds no ELF: its mapping is read like generated code, and each
  // mapping is its own, since addresses differ.
  if (images_[known->second].file) return known->second;
  const auto own = static_cast<std::uint32_t>(images_.size());
  const auto [live, fresh] = generations_.emplace(mapping.generation, own);
  if (fresh) images_.push_back({mapping.path, {}, LiveCode{}, pid, user_of(pid)});
  return live->second;
}

CodePlace Images::locate(int pid, const Mapping& mapping, std::uint64_t address, bool executed) {
  const std::uint32_t number = image_of(pid, mapping);
  Image& image = images_[number];
  if (image.file) return {number, address - mapping.start + mapping.offset};
  if (executed && image.live) image.live->read(pid, address, mapping.start, mapping.end);
  return {number, address};
}

CodePlace Images::kernel(CodePlace caller) {
  const auto [known, added] = kernel_places_.emplace(caller, kernel_callers_.size() + 1);
  if (added) kernel_callers_.push_back(caller);
  return {0, known->second};
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
  if (place.image == 0) {
    if (place.at == 0 || place.at > kernel_callers_.size()) return "";
    const CodePlace caller = kernel_callers_.at(place.at - 1);
    const std::string name = symbol(caller), file = path(caller);
    return name.empty() ? file.substr(file.rfind('/') + 1) : name;
  }
  Image& image = images_.at(place.image);
  if (image.file) return image.file->symbol(place.at);
  return image.path == kGeneratedCode ? jit_map(image).symbol(place.at) : "";
}

std::optional<SourceLine> Images::line(CodePlace place) {
  Image& image = images_.at(place.image);
  return image.file ? image.file->line(place.at) : std::nullopt;
}

LoopClass Images::loop(CodePlace place) {
  const Image& image = images_.at(place.image);
  CodeBytes code;
  if (image.file) {
    code = image.file->code(place.at, kLoopReachBytes);
    if (image.file->changed()) {
      notes_.insert(image.path + " was written to while it was observed: its loops are not judged");
    }
  } else if (image.live) {
    code = image.live->around(place.at);
  }
  return classify_loop(code.bytes, code.address, place.at);
}

}  // namespace hwprof::observe
