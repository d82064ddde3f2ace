// What each thread allocates: malloc() and its kin, in front of glibc's own, which the loader finds
// first in a program that holds this file or loads it as libhwprof-memory.so. Sizes are those that
// the allocator gave, at least what was asked for. Memory that a program maps by itself is not
// seen. A sanitizer has an allocator of its own: nothing is watched there.
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "counters/regions/hwprof.h"
#include "src/base/sanitized.h"

#if defined(__GLIBC__) && !HWPROF_SANITIZED

extern "C" {
void* __libc_malloc(std::size_t size);                       // NOLINT: glibc's names
void* __libc_calloc(std::size_t count, std::size_t size);    // NOLINT
void* __libc_realloc(void* memory, std::size_t size);        // NOLINT
void* __libc_memalign(std::size_t place, std::size_t size);  // NOLINT
void __libc_free(void* memory);                              // NOLINT
}

namespace {

// initial-exec: no call that would allocate.
__thread hwprof_memory of_thread __attribute__((tls_model("initial-exec")));

void change_live(std::int64_t by) {
  of_thread.live += by;
  of_thread.peak = std::max(of_thread.peak, of_thread.live);
}

void* allocated(void* memory) {
  if (memory == nullptr) return memory;
  const std::size_t size = malloc_usable_size(memory);
  of_thread.allocated += size;
  change_live(static_cast<std::int64_t>(size));
  return memory;
}

bool is_power_of_two(std::size_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names of C
extern "C" {

HWPROF_API hwprof_memory* hwprof_memory_of_thread(void) { return &of_thread; }

HWPROF_API void* malloc(std::size_t size) noexcept { return allocated(__libc_malloc(size)); }

HWPROF_API void* calloc(std::size_t count, std::size_t size) noexcept {
  return allocated(__libc_calloc(count, size));
}

HWPROF_API void free(void* memory) noexcept {
  if (memory == nullptr) return;
  change_live(-static_cast<std::int64_t>(malloc_usable_size(memory)));
  __libc_free(memory);
}

// What it grows by is allocated.
HWPROF_API void* realloc(void* memory, std::size_t size) noexcept {
  const std::size_t before = memory == nullptr ? 0 : malloc_usable_size(memory);
  void* const moved = __libc_realloc(memory, size);
  if (moved == nullptr && size != 0) return nullptr;  // the old one is still there
  const std::size_t after = moved == nullptr ? 0 : malloc_usable_size(moved);
  of_thread.allocated += after > before ? after - before : 0;
  change_live(static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before));
  return moved;
}

HWPROF_API void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return allocated(__libc_memalign(alignment, size));
}

HWPROF_API void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

HWPROF_API int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || !is_power_of_two(alignment)) return EINVAL;
  void* const given = memalign(alignment, size);
  if (given == nullptr) return ENOMEM;
  *memory = given;
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

#endif
