// Functions of a BLAS that are none of those that are counted: LAPACK that is seldom called, what
// one BLAS has and others have not. Nobody knows their arguments, and they are not counted; but
// that one was called is noted of its file, since it may call routines there, which the loader
// binds for nobody. Their stubs jump on, with the caller's stack and registers as they were.
#pragma once

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

inline constexpr u32 kOthers = 1024;  // as many as there are stubs

struct Other {
  u64 target;
  u32* called;  // of its file
};
static_assert(sizeof(Other) == 16, "the stubs count on it");

}  // namespace hwprof::observe::audit

extern "C" {
// Stub i lies at hwprof_other_stubs + i * 16.
extern const char hwprof_other_stubs[];
__attribute__((
    visibility("hidden"),
    used)) inline hwprof::observe::audit::Other hwprof_others[hwprof::observe::audit::kOthers] = {};
}

namespace hwprof::observe::audit {

inline u32 other_count = 0;  // written by who holds the lock of the stubs

inline bool is_other_stub(u64 address) {
  return address - reinterpret_cast<u64>(hwprof_other_stubs) < u64{kOthers} * 16;
}

// To be called by who holds the lock of the stubs. Where there is no room it may be called unseen,
// which counts as a call.
inline u64 bind_other(u64 address, u32* called) {
  u32 i = 0;
  while (i < other_count &&
         (hwprof_others[i].target != address || hwprof_others[i].called != called))
    ++i;
  if (i == kOthers) {
    __atomic_store_n(called, 1, __ATOMIC_RELAXED);
    return address;
  }
  if (i == other_count) hwprof_others[other_count++] = {address, called};
  return reinterpret_cast<u64>(hwprof_other_stubs) + u64{i} * 16;
}

// Whether the file has products, by one of the names that a BLAS has them by.
inline bool serves_blas(const ElfObject& file) {
  constexpr const char* kProducts[] = {
      "sgemm_",       "dgemm_",       "cgemm_",         "zgemm_",          "cblas_sgemm",
      "cblas_dgemm",  "sgemm_64_",    "dgemm_64_",      "sgemm64_",        "dgemm64_",
      "scipy_dgemm_", "scipy_sgemm_", "scipy_dgemm64_", "scipy_dgemm_64_", "cblas_dgemm64_",
      "dgemm",        "sgemm",        "DGEMM",          "SGEMM",
  };
  for (const char* product : kProducts) {
    if (file.function(product) != 0) return true;
  }
  return false;
}

// False: it sets or tells something, asks for memory, or is of C++. A name more is no harm: the
// program then has called what nobody has looked into.
inline bool may_compute(const char* name) {
  constexpr const char* kBegins[] = {
      "_",        "openblas_", "scipy_openblas_", "goto_",       "blas_",       "flexiblas_",
      "mkl_set",  "mkl_get",   "mkl_serv",        "MKL_",        "mkl_malloc",  "mkl_calloc",
      "mkl_free", "omp_",      "bli_thread_",     "bli_info",    "bli_init",    "bli_finalize",
      "xerbla",   "lsame",     "ilaenv",          "slamch",      "dlamch",      "cblas_xerbla",
      "second_",  "dsecnd_",   "ilaver",          "LAPACKE_set", "LAPACKE_get", "armpl_",
  };
  for (const char* begin : kBegins) {
    if (routine_names::after(name, begin) != nullptr) return false;
  }
  return true;
}

// Of an address that the loader writes without a word: the file it lies in is not known yet.
inline bool may_be_of_blas(const char* name) {
  const char* rest = routine_names::after(name, "scipy_");
  if (rest == nullptr) rest = name;
  constexpr const char* kBegins[] = {"LAPACKE_", "cblas_", "bli_"};
  for (const char* begin : kBegins) {
    if (routine_names::after(rest, begin) != nullptr) return may_compute(name);
  }
  if (*rest != 's' && *rest != 'd' && *rest != 'c' && *rest != 'z') return false;
  u32 letters = 0;
  for (; (rest[letters] >= 'a' && rest[letters] <= 'z') ||
         (rest[letters] >= '0' && rest[letters] <= '9');
       ++letters) {
  }
  rest += letters;
  return letters >= 4 && may_compute(name) &&
         (routine_names::equal(rest, "_") || routine_names::equal(rest, "_64_"));
}

}  // namespace hwprof::observe::audit
