#include "counters/user_read.h"

#include <sys/mman.h>
#include <unistd.h>

namespace hwprof {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

#if defined(__x86_64__)
std::uint64_t read_counter_register(unsigned index) {
  return static_cast<std::uint64_t>(__builtin_ia32_rdpmc(static_cast<int>(index)));
}
#elif defined(__aarch64__)
// Every register has an instruction of its own. PMSELR_EL0 would choose one by number, but the
// kernel does not keep it across a change of threads.
std::uint64_t read_counter_register(unsigned index) {
  std::uint64_t value = 0;
#define HWPROF_READ(n)                                        \
  case n:                                                     \
    asm volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
    break;
  switch (index) {
    HWPROF_READ(0)
    HWPROF_READ(1)
    HWPROF_READ(2)
    HWPROF_READ(3)
    HWPROF_READ(4)
    HWPROF_READ(5)
    HWPROF_READ(6)
    HWPROF_READ(7)
    HWPROF_READ(8)
    HWPROF_READ(9)
    HWPROF_READ(10)
    HWPROF_READ(11)
    HWPROF_READ(12)
    HWPROF_READ(13)
    HWPROF_READ(14)
    HWPROF_READ(15)
    HWPROF_READ(16)
    HWPROF_READ(17)
    HWPROF_READ(18)
    HWPROF_READ(19)
    HWPROF_READ(20)
    HWPROF_READ(21)
    HWPROF_READ(22)
    HWPROF_READ(23)
    HWPROF_READ(24)
    HWPROF_READ(25)
    HWPROF_READ(26)
    HWPROF_READ(27)
    HWPROF_READ(28)
    HWPROF_READ(29)
    HWPROF_READ(30)
    default:  // 31: the cycle counter
      asm volatile("mrs %0, pmccntr_el0" : "=r"(value));
  }
#undef HWPROF_READ
  return value;
}
#else
std::uint64_t read_counter_register(unsigned /*index*/) {
  return 0;
}  // never asked: no page says so
#endif

UserPage::UserPage(int fd) {
  void* page = mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) page_ = static_cast<perf_event_mmap_page*>(page);
}

UserPage& UserPage::operator=(UserPage&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

UserPage::~UserPage() {
  if (page_ != nullptr) munmap(page_, page_bytes());
}

}  // namespace hwprof
