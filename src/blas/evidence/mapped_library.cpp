#include "src/blas/evidence/mapped_library.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

bool is_same_file(int file, const std::string& path) {
  struct stat one {
  }, other{};
  return ::fstat(file, &one) == 0 && ::stat(path.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace hwprof::blas
