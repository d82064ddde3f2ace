// Which BLAS a process has mapped and what each has chosen, read once from its files: nothing is
// stopped. Everything read here may be whatever its user likes: it is done by a process that has no
// rights but that user's (process_reader.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "src/blas/evidence/library_file.h"
#include "src/model/blas.h"
#include "src/observe/monitor/process_files.h"
#include "src/observe/proc/maps.h"

namespace hwprof::blas {

// One mapped file that has to do with a BLAS.
struct MappedBlas {
  report::ChosenCore chosen;  // with path, provider and version
  bool serves_blas = false;   // has an sgemm_ of its own
  bool own_choice = false;    // its own memory tells which kernels it took
  bool elsewhere = false, deleted = false;
  bool unreadable = false;  // so that nothing but its name is known
};

// Of the files of one process each BLAS once: what hands its calls on to another file of the same
// provider (Debian's libblas.so.3 of OpenBLAS), and the parts that MKL and ATLAS are cut into, are
// one library. Pure.
std::vector<MappedBlas> each_blas(const std::vector<MappedBlas>& files);

class ProcessBlas {
 public:
  // By address. Absent, with errno, where its memory map cannot be read; EFBIG: it is too long.
  std::optional<std::vector<MappedBlas>> mapped_in(pid_t pid, const observe::ProcessFiles& files);

 private:
  // A file is opened once for all processes that have it: by root folder, path, device and inode.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::string, observe::FileId>;
  struct Known {
    std::unique_ptr<LibraryFile> file;  // null: has nothing to do with a BLAS
    bool elsewhere = false;
    std::string unreadable;  // why nothing is known of it
  };
  const Known& inspect(const Key& key, const observe::ProcessFiles& files,
                       const observe::FileMapping& mapping, bool is_program);

  std::map<Key, Known> files_;
};

// "NAME=VALUE" each, of /proc/PID/environ: what shapes a BLAS, and what names a job.
using Variables = std::vector<std::pair<std::string, std::string>>;
Variables telling_variables(std::string_view environment);

}  // namespace hwprof::blas
