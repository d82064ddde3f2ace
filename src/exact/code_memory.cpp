#include "src/exact/code_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "src/exact/exact.h"

namespace hwprof::exact {
namespace {

constexpr std::uint64_t kStep = 16U << 20U;
constexpr std::uint64_t kReach = 1536ULL << 20U;

void* reserve_near(std::uint64_t address, std::size_t bytes) {
  const std::uint64_t from = address & ~(kStep - 1);
  for (std::uint64_t away = kStep; away < kReach; away += kStep) {
    for (const std::uint64_t wanted : {from + away, from - away}) {
      if (wanted < kStep || wanted >= 1ULL << 47U) continue;
      void* got = mmap(reinterpret_cast<void*>(wanted), bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == reinterpret_cast<void*>(wanted)) return got;
      if (got != MAP_FAILED) munmap(got, bytes);  // a kernel that knows no MAP_FIXED_NOREPLACE
    }
  }
  return nullptr;
}

int map_twice(CodePiece& piece, std::uint8_t* to_run_at) {
  // Beyond its limit on files this ends the process, by SIGXFSZ.
  rlimit largest{};
  if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < kCodeBytes) return EFBIG;
  const int file = memfd_create(kCodeFile, MFD_CLOEXEC);
  if (file < 0) return errno;
  int error = 0;
  void* writable = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(kCodeBytes)) != 0 ||
      (writable = mmap(nullptr, kCodeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) ==
          MAP_FAILED ||
      mmap(to_run_at, kCodeBytes, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, file, 0) ==
          MAP_FAILED) {
    error = errno;
    if (writable != MAP_FAILED) munmap(writable, kCodeBytes);
  } else {
    piece.code = static_cast<std::uint8_t*>(writable);
    piece.end_of_code = piece.code + kCodeBytes;
    piece.to_run = to_run_at - piece.code;
  }
  close(file);
  return error;
}

}  // namespace

bool CodePiece::has_room() const {
  // The longest block: 64 instructions, each of them with a mask to count, and its exits.
  return end_of_code - code > 65536 && end_of_cells - next_cell > 512;
}

bool CodePiece::reaches(std::uint64_t address) const {
  const auto away = static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(start));
  return away < static_cast<std::int64_t>(kReach) && -away < static_cast<std::int64_t>(kReach);
}

int map_code_near(std::uint64_t address, CodePiece& piece) {
  void* start = reserve_near(address, kCellBytes + kCodeBytes);
  if (start == nullptr) return ENOMEM;
  auto* bytes = static_cast<std::uint8_t*>(start);
  int error = mprotect(start, kCellBytes, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
  if (error == 0) error = map_twice(piece, bytes + kCellBytes);
  if (error != 0) {
    munmap(start, kCellBytes + kCodeBytes);
    return error;
  }
  piece.start = bytes;
  piece.slots = static_cast<Slots*>(start);
  piece.next_cell = static_cast<std::uint64_t*>(start) + 512;
  piece.end_of_cells = static_cast<std::uint64_t*>(start) + kCellBytes / sizeof(std::uint64_t);
  return 0;
}

void unmap_code(CodePiece& piece) {
  if (piece.start == nullptr) return;
  munmap(piece.end_of_code - kCodeBytes, kCodeBytes);
  munmap(piece.start, kCellBytes + kCodeBytes);
  piece = {};
}

void* map_zeroed(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap(void* memory, std::size_t bytes) {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace hwprof::exact
