#include "src/blas/exact/leave_count.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/measure/placed_blocks.h"

namespace hwprof::blas {
namespace {

// As it was when the program started, which may change its environment.
std::array<char, 512> folder;

__attribute__((constructor)) void remember_folder() {
  const char* set = std::getenv(kExactVariable);
  if (set != nullptr && std::strlen(set) < folder.size()) std::strcpy(folder.data(), set);
}

// Blocks by file and offset, and the files that they are of.
struct Placed {
  std::vector<CountedFile> files;
  std::vector<FileBlock> blocks;
};

Placed place(const std::vector<exact::CountedBlock>& blocks) {
  std::map<std::string, std::uint32_t> numbers;
  Placed placed;
  for (const PlacedBlock& block :
       place_blocks(blocks, read_text_file("/proc/self/maps").value_or(""))) {
    FileBlock& to = placed.blocks.emplace_back();
    to.offset = block.at;
    to.counts = block.counts;
    if (block.file.empty()) continue;
    const auto [known, is_new] =
        numbers.try_emplace(block.file, static_cast<std::uint32_t>(placed.files.size()));
    if (is_new) copy_text(placed.files.emplace_back().path, block.file);
    to.file = known->second;
  }
  return placed;
}

template <class T>
void append(std::string& to, const T* values, std::size_t count) {
  to.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

// Under another name until it is whole: what was cut off is then not found.
void write(const CountHead& head, const Placed& placed) {
  if (folder[0] == '\0') return;
  std::string bytes;
  append(bytes, &head, 1);
  append(bytes, placed.files.data(), placed.files.size());
  append(bytes, placed.blocks.data(), placed.blocks.size());
  // Beyond it a write would end the program, by SIGXFSZ.
  rlimit largest{};
  if (::getrlimit(RLIMIT_FSIZE, &largest) != 0 || largest.rlim_cur < bytes.size()) return;
  const std::string path = fmt::format("{}/{}-{}", folder.data(), head.process, head.call);
  const std::string part = path + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t done = ::write(file, bytes.data() + written, bytes.size() - written);
    if (done < 0 && errno != EINTR) break;
    written += done > 0 ? static_cast<std::size_t>(done) : 0;
  }
  ::close(file);
  if (written == bytes.size())
    ::rename(part.c_str(), (path + ".exact").c_str());
  else
    ::unlink(part.c_str());
}

}  // namespace

void leave_count(CountHead& head, const Result<exact::Counted>& counted) {
  head.process = ::getpid();
  Placed placed;
  if (counted) placed = place(counted->blocks);
  if (!counted) {
    copy_text(head.reason, counted.error().what);
    copy_text(head.hint, counted.error().hint);
  } else if (placed.blocks.size() > kMostCountedBlocks || placed.files.size() > kMostCountedFiles) {
    copy_text(head.reason, "not counted: it ran more code than can be held");
    placed = {};
  } else {
    head.counted = 1;
    head.files = static_cast<std::uint32_t>(placed.files.size());
    head.blocks = static_cast<std::uint32_t>(placed.blocks.size());
  }
  write(head, placed);
}

}  // namespace hwprof::blas
