#include "src/blas/evidence/mapped_library.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof::blas {

std::optional<std::uint64_t> load_bias(const LibraryFile& file,
                                       const observe::FileMapping& mapping) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const observe::ElfSegment& segment : file.segments) {
    if (segment.offset / page * page == mapping.offset) {
      return mapping.start - segment.address / page * page;
    }
  }
  return std::nullopt;
}

ReadMemory memory_of(int memory, int& error) {
  return [memory, &error](std::uint64_t address, void* to, std::size_t bytes) {
    const ssize_t got = retry_interrupted(
        [&] { return ::pread64(memory, to, bytes, static_cast<off64_t>(address)); });
    if (got < 0) error = errno;
    return got == static_cast<ssize_t>(bytes);
  };
}

// stat(2) and the memory map name the same device, but for file systems that have several, such as
// btrfs and overlayfs: of those one's own map tells how they are named there.
bool is_mapped_file(int file, const observe::FileId& mapped) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return false;
  if (major(status.st_dev) == mapped.major && minor(status.st_dev) == mapped.minor &&
      status.st_ino == mapped.inode)
    return true;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file, 0);  // not read
  if (memory == MAP_FAILED) return false;
  const auto maps = observe::parse_maps(read_text_file("/proc/self/maps").value_or(""));
  ::munmap(memory, page);
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  return std::any_of(maps.begin(), maps.end(), [&](const observe::MapsLine& line) {
    return line.start <= start && start < line.end && line.file == mapped;
  });
}

bool is_same_file(int file, const std::string& path) {
  struct stat one {
  }, other{};
  return ::fstat(file, &one) == 0 && ::stat(path.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace hwprof::blas
