// What is known of the files that the observed processes have mapped, and of which mappings it is
// true: a file is known as it was when it was looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "src/base/unique_fd.h"
#include "src/observe/calls/mapped_file.h"
#include "src/observe/perf/records.h"

namespace hwprof::observe {

struct KnownFile {
  // What was mapped in between was the file as it is known (the clock of records).
  std::uint64_t from_ns = 0, until_ns = 0;
  FileVersion version;
  bool settled = true;           // else it may change, and look the same
  UniqueFd name;                 // of one to which its path does not lead
  std::optional<FileId> probed;  // as fstat() has it; absent: it has no routines
};

class KnownFiles {
 public:
  static constexpr std::size_t kMost = 50000;
  [[nodiscard]] bool full() const { return files_.size() >= kMost; }

  // The file of a mapping of that time; null where that is not known.
  [[nodiscard]] const KnownFile* find(const Mapped& mapped, std::uint64_t time_ns) const;
  // Whether there is more to know than that it has not changed since it was looked at: then it is
  // to be opened and read.
  bool is_to_be_read(const Mapped& mapped, std::uint64_t time_ns);
  // To be called before the file is read.
  [[nodiscard]] std::optional<KnownFile> begin(const Mapped& mapped, const UniqueFd& file);
  void add(const Mapped& mapped, KnownFile file);

 private:
  // Btrfs and overlayfs number mapped files otherwise than fstat().
  using Key = std::pair<FileId, std::uint64_t>;  // and generation
  static Key key_of(const Mapped& mapped) { return {mapped.file, mapped.generation}; }

  std::map<Key, KnownFile> files_;
  std::size_t names_ = 0;  // that are kept
};

}  // namespace hwprof::observe
