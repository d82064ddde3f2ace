#include "src/blas/evidence/loaded.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "src/base/text.h"
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/mapped_library.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/foreign_file.h"
#include "src/observe/routines/blas_routine.h"

namespace hwprof::blas {
namespace {

using std::chrono::milliseconds;

// A poll that took t is followed by none for this many t, but never for long: a BLAS may be loaded
// and left again within a second, and a program may be over in a part of one. So the longest pause
// grows with the time that was watched, and is this share of it.
constexpr int kPauseFactor = 50, kPauseShare = 4;
constexpr milliseconds kShortestLimit{20}, kLongestLimit{200};
// The size of a process tells that it has mapped something. Where a mapping of the same size went
// away meanwhile it does not, so that maps are read once in a while anyhow.
constexpr milliseconds kMapsAge{500};

struct Text {
  std::string bytes;
  int error = 0;  // errno of what failed
};

Text read_at(int folder, const char* name) {
  Text text;
  const UniqueFd file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {"", errno};
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t got =
        retry_interrupted([&] { return ::read(file.get(), buffer.data(), buffer.size()); });
    if (got < 0) return {"", errno};
    if (got == 0) return text;
    text.bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// The program that a process runs, as it names it; empty where that is not told.
std::string program_of(pid_t pid) {
  const UniqueFd file =
      observe::open_foreign({.kind = observe::ForeignFile::Kind::kProgram, .pid = pid, .path = {}});
  std::array<char, 4096> target{};
  const ssize_t length = file.valid()
                             ? ::readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(),
                                          target.data(), target.size())
                             : 0;
  return {target.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

bool is_ended(int error) { return error == ESRCH || error == ENOENT; }

bool same_choice(const report::ChosenCore& a, const report::ChosenCore& b) {
  return a.path == b.path && (a.core == b.core || a.core.empty() || b.core.empty());
}

// What is known of one library in one more process: the core counts more than a reason for none,
// the larger number of threads more than what it was before they were started.
void merge(std::vector<report::ChosenCore>& all, const report::ChosenCore& one) {
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&](const auto& other) { return same_choice(other, one); });
  if (known == all.end()) {
    all.push_back(one);
    return;
  }
  const auto threads = std::max(known->threads, one.threads);
  if (known->core.empty() && !one.core.empty()) *known = one;
  known->threads = threads;
}

}  // namespace

LiveWatch::LiveWatch(pid_t root) : root_(root) {}

void LiveWatch::poll() {
  now_ = Clock::now();
  if (now_ < next_poll_) return;
  inspecting_ = {};
  find_children(0);
  // By index of pids: children are added while we walk.
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_) pids.push_back(pid);
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const auto at = processes_.find(pids[i]);
    if (look_at(at->first, at->second)) {
      const std::size_t before = processes_.size();
      find_children(pids[i]);
      if (processes_.size() == before) continue;
      for (const auto& [pid, process] : processes_) {
        if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
      }
    } else {
      keep(at->second);
      processes_.erase(at);
    }
  }
  const auto took = Clock::now() - now_ - inspecting_;
  const Clock::duration longest =
      std::clamp<Clock::duration>((now_ - began_) / kPauseShare, kShortestLimit, kLongestLimit);
  next_poll_ = now_ + std::min<Clock::duration>(kPauseFactor * took, longest);
}

// Those of each thread: a child belongs to the thread that started it. `parent` 0: the root itself.
void LiveWatch::find_children(pid_t parent) {
  const auto add = [&](pid_t pid) {
    if (processes_.contains(pid)) return;
    UniqueFd folder(::open(fmt::format("/proc/{}", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) processes_[pid].folder = std::move(folder);
  };
  if (parent == 0) {
    if (root_ > 0) add(root_);
    return;
  }
  const int folder = processes_.at(parent).folder.get();
  const int tasks = ::openat(folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return;
  DIR* list = ::fdopendir(tasks);
  if (list == nullptr) {
    ::close(tasks);
    return;
  }
  while (const dirent* entry = ::readdir(list)) {
    if (entry->d_name[0] == '.') continue;
    const Text children = read_at(tasks, fmt::format("{}/children", entry->d_name).c_str());
    for (const std::string_view word : split(children.bytes, ' ')) {
      if (const auto pid = parse_int(word)) add(*pid);
    }
  }
  ::closedir(list);
}

bool LiveWatch::look_at(pid_t pid, Process& process) {
  const Text size = read_at(process.folder.get(), "statm");
  if (!size.bytes.empty()) {
    const auto pages = parse_unsigned(split(size.bytes, ' ').front()).value_or(0);
    if (pages == 0) return false;  // a zombie has no memory
    if (pages != process.mapped_pages || now_ - process.maps_read >= kMapsAge) {
      process.mapped_pages = pages;
      process.maps_read = now_;
      Text maps;
      errno = 0;
      if (auto text = observe::read_maps(pid)) {
        maps.bytes = *std::move(text);
      } else {
        maps.error = errno != 0 ? errno : ESRCH;
      }
      if (is_ended(maps.error)) return false;
      if (maps.error != 0) {
        const Text name = read_at(process.folder.get(), "comm");
        refused_.emplace(
            fmt::format("its memory map cannot be read: {}", std::strerror(maps.error)),
            fmt::format("process {} ({})", pid, trim(name.bytes)));
        return true;
      }
      take_maps(pid, process, maps.bytes);
    }
  } else {
    return !is_ended(size.error) && size.error != 0;
  }
  read_cores(pid, process);
  return true;
}

void LiveWatch::take_maps(pid_t pid, Process& process, std::string_view maps) {
  const std::string program = program_of(pid);
  for (observe::FileMapping& mapping : observe::executable_files(maps)) {
    const auto known = process.libraries.find(mapping.path);
    if (known != process.libraries.end()) {
      if (known->second.mapping.start != mapping.start) {  // after exec, or loaded anew
        known->second.mapping = std::move(mapping);
      }
      continue;
    }
    const LibraryFile* file = inspect(pid, mapping, mapping.path == program);
    if (file == nullptr) continue;
    loaded_.emplace(mapping.path,
                    report::LoadedLibrary{mapping.path, file->soname, file->build_id,
                                          file->provider, file->serves_blas, file->elsewhere});
    Library library{std::move(mapping), file, {}};
    const std::string path = library.mapping.path;
    process.libraries.emplace(path, std::move(library));
  }
}

const LibraryFile* LiveWatch::inspect(pid_t pid, const observe::FileMapping& mapping,
                                      bool is_program) {
  const auto key = std::make_pair(mapping.path, mapping.file);
  if (const auto known = files_.find(key); known != files_.end()) return known->second.get();
  const auto begin = Clock::now();
  std::unique_ptr<LibraryFile>& file = files_[key];
  if (!mapping.deleted) {
    // As the process sees it: it may live in another mount namespace.
    UniqueFd seen = observe::open_foreign(
        {.kind = observe::ForeignFile::Kind::kInRoot, .pid = pid, .path = mapping.path});
    if (!seen.valid())  // before Linux 5.6
      seen = UniqueFd(::open(mapping.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    // Another file may lie there by now, or be mounted over it.
    const bool same = seen.valid() && is_mapped_file(seen.get(), mapping.file);
    auto found =
        same ? inspect_file(fmt::format("/proc/self/fd/{}", seen.get()), is_program) : std::nullopt;
    if (found) {
      found->elsewhere = !is_same_file(seen.get(), mapping.path);
      file = std::make_unique<LibraryFile>(*std::move(found));
    }
  }
  inspecting_ += Clock::now() - begin;
  return file.get();
}

void LiveWatch::read_cores(pid_t pid, Process& process) {
  UniqueFd memory;  // of the program that runs now: after an execve it would be another one's
  for (auto& [path, library] : process.libraries) {
    const auto bias = load_bias(*library.file, library.mapping);
    if (!bias || library.file->hands_on) continue;
    if (!memory.valid()) {
      memory = observe::open_foreign(
          {.kind = observe::ForeignFile::Kind::kMemory, .pid = pid, .path = {}});
    }
    int error = memory.valid() ? 0 : errno;
    report::ChosenCore chosen = core_in_memory(
        *library.file, path, *bias, memory_of(memory.get(), error), fmt::format("process {}", pid));
    if (error != 0 && !is_ended(error) && chosen.core.empty()) {
      chosen.reason =
          fmt::format("the memory of process {} cannot be read: {}", pid, std::strerror(error));
    }
    // The last answer is kept where there is no new one: the process is about to end, or has
    // started another program.
    if (!chosen.core.empty() || library.chosen.core.empty()) library.chosen = std::move(chosen);
  }
}

void LiveWatch::keep(const Process& process) {
  for (const auto& [path, library] : process.libraries) merge(ended_, library.chosen);
}

std::vector<report::LoadedLibrary> LiveWatch::loaded() const {
  std::vector<report::LoadedLibrary> all;
  for (const auto& [path, library] : loaded_) all.push_back(library);
  return all;
}

std::vector<report::ChosenCore> LiveWatch::chosen_cores() const {
  std::vector<report::ChosenCore> all = ended_;
  for (const auto& [pid, process] : processes_) {
    for (const auto& [path, library] : process.libraries) merge(all, library.chosen);
  }
  std::erase_if(all, [](const auto& one) { return one.path.empty(); });
  for (const auto& [reason, process] : refused_) {
    report::ChosenCore one;
    one.reason = process + ": " + reason;
    all.push_back(std::move(one));
  }
  return all;
}

void add_called_libraries(const report::Called& called,
                          std::vector<report::LoadedLibrary>& loaded) {
  for (const report::CallSite& site : called.calls) {
    const bool known = std::any_of(loaded.begin(), loaded.end(), [&](const auto& library) {
      return library.path == site.library;
    });
    if (known) continue;
    if (called.elsewhere.contains(site.library)) {
      loaded.push_back({site.library, "", "", report::Provider::kUnknown, true, true});
      continue;
    }
    if (const auto file = inspect_file(site.library, false)) {
      loaded.push_back(
          {site.library, file->soname, file->build_id, file->provider, file->serves_blas, false});
      continue;
    }
    observe::Routine routine;
    const observe::ElfFile elf(site.library);
    if (!elf.valid() || !observe::find_routine(site.symbol.c_str(), routine) || !routine.blas)
      continue;
    std::string soname = elf.soname();
    // Without one the loader knows it by its file; what another file calls is not the program.
    if (soname.empty() && !site.caller.empty() && site.caller != site.library)
      soname = site.library.substr(site.library.rfind('/') + 1);
    loaded.push_back(
        {site.library, std::move(soname), elf.build_id(), report::Provider::kUnknown, true, false});
  }
}

}  // namespace hwprof::blas
