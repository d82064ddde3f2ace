// E1 and E2 of a program while it runs: which libraries any process of its tree has mapped, and
// which core each has chosen. Nothing is stopped, injected or changed: /proc/PID/maps, the files
// that it names, and its memory.
//
// A process may end at any time, and takes its memory with it: what was last seen is kept.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/blas/evidence/library_file.h"
#include "src/model/blas.h"
#include "src/observe/proc/maps.h"

namespace hwprof::blas {

class LiveWatch {
 public:
  explicit LiveWatch(pid_t root);

  // Looks at the tree again. To be called often; looks only as often as costs a few hundredths of
  // one CPU, and opens each file once.
  void poll();

  // Of all processes together, a file once.
  [[nodiscard]] std::vector<report::LoadedLibrary> loaded() const;
  // A library once for each core that a process of the tree chose in it. Last, with a reason and
  // without a provider, those processes that could not be looked at.
  [[nodiscard]] std::vector<report::ChosenCore> chosen_cores() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Library {
    observe::FileMapping mapping;
    const LibraryFile* file = nullptr;  // in files_
    report::ChosenCore chosen;
  };
  struct Process {
    UniqueFd folder;  // /proc/PID: unlike a number it is never given to another process
    std::uint64_t mapped_pages = 0;
    Clock::time_point maps_read;
    std::map<std::string, Library> libraries;  // by path
  };

  void find_children(pid_t parent);
  bool look_at(pid_t pid, Process& process);  // false: it has ended
  void take_maps(pid_t pid, Process& process, std::string_view maps);
  const LibraryFile* inspect(pid_t pid, const observe::FileMapping& mapping, bool is_program);
  void read_cores(pid_t pid, Process& process);
  void keep(const Process& process);

  pid_t root_;
  Clock::time_point began_ = Clock::now(), next_poll_, now_;
  Clock::duration inspecting_{};  // spent on files in this poll: a cost that does not come back
  std::map<pid_t, Process> processes_;
  // By path, device and inode; null: has nothing to do with BLAS, or cannot be read.
  std::map<std::pair<std::string, observe::FileId>, std::unique_ptr<LibraryFile>> files_;
  std::map<std::string, report::LoadedLibrary> loaded_;
  std::vector<report::ChosenCore> ended_;       // of processes that are no more
  std::map<std::string, std::string> refused_;  // reason -> first process
};

// Adds to E1 what E3 proves: a library that served calls was mapped, even where the program was
// over before anybody had looked; and it is a BLAS, whatever its name and its other symbols.
void add_called_libraries(const report::Called& called, std::vector<report::LoadedLibrary>& loaded);

}  // namespace hwprof::blas
