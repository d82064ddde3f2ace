// libhwprof-exact.so: preloaded into a program of which a call is to be counted instruction by
// instruction, and asleep until the audit library hands it that call (exact_call.h there). It lives
// in the program's own namespace, since what it counts with needs the C library; of C++ it has its
// own copy inside, and shows nothing of it, so that the program's is the only one that it sees. The
// program's errno and floating-point state are, before and behind the routine, as if it were not
// there.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/blas/exact/call_through.h"
#include "src/blas/exact/count_file.h"
#include "src/exact/exact.h"
#include "src/measure/placed_blocks.h"
#include "src/observe/audit/handover.h"

namespace hwprof::blas {
namespace {

// As it was when the program started, which may change its environment.
std::array<char, 512> folder;

__attribute__((constructor)) void remember_folder() {
  const char* set = std::getenv(kExactVariable);
  if (set != nullptr && std::strlen(set) < folder.size()) std::strcpy(folder.data(), set);
}

template <std::size_t kRoom>
void copy_text(char (&to)[kRoom], std::string_view from) {
  const std::size_t bytes = std::min(from.size(), kRoom - 1);
  std::memcpy(to, from.data(), bytes);
  to[bytes] = '\0';
}

template <std::size_t kRoom>
void copy_bounded(char (&to)[kRoom], const char* from) {
  copy_text(to, {from, ::strnlen(from, kRoom - 1)});
}

CountHead take(observe::audit::Handover& handover, PassedCall& call) {
  CountHead head;
  head.call = handover.call;
  head.process = ::getpid();
  head.has_shape = handover.has_shape ? 1 : 0;
  head.shape = handover.shape;
  copy_bounded(head.symbol, handover.symbol);
  copy_bounded(head.caller, handover.caller);
  copy_bounded(head.library, handover.library);
  call.routine = handover.routine;
  call.stack_words = handover.stack_words;
  __atomic_store_n(&handover.busy, 0, __ATOMIC_RELEASE);
  return head;
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

struct Region {
  PassedCall& call;
  int& current_errno;  // this thread's
  int error;           // as the program has it
  bool ran = false;
};

void run(void* argument) {
  auto& region = *static_cast<Region*>(argument);
  region.ran = true;
  region.current_errno = region.error;
  hwprof_exact_call(&region.call);
  region.error = region.current_errno;
}

Placed count(Region& region, CountHead& head) {
  const auto counted = exact::count_call(run, &region, exact::Engine::kBlocks);
  if (!counted) {
    copy_text(head.reason, counted.error().what);
    copy_text(head.hint, counted.error().hint);
    return {};
  }
  Placed placed = place(counted->blocks);
  if (placed.blocks.size() > kMostCountedBlocks || placed.files.size() > kMostCountedFiles) {
    copy_text(head.reason, "not counted: it ran more code than can be held");
    return {};
  }
  head.counted = 1;
  head.files = static_cast<std::uint32_t>(placed.files.size());
  head.blocks = static_cast<std::uint32_t>(placed.blocks.size());
  return placed;
}

}  // namespace
}  // namespace hwprof::blas

void hwprof_exact_take_call(hwprof::blas::PassedCall* call) {
  using namespace hwprof::blas;
  int& error = errno;
  Region region{.call = *call, .current_errno = error, .error = error};
  CountHead head =
      take(*reinterpret_cast<hwprof::observe::audit::Handover*>(call->handover), *call);
  const Placed placed = count(region, head);
  if (!region.ran) run(&region);
  write(head, placed);
  error = region.error;
}
