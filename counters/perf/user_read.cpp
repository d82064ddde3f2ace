#include "counters/perf/user_read.h"

#include <sys/mman.h>
#include <unistd.h>

namespace hwprof {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

std::optional<unsigned> readable_width(const volatile perf_event_mmap_page& page) {
  if (!page.cap_user_rdpmc || page.index == 0 || page.pmc_width == 0 || page.pmc_width > 64)
    return std::nullopt;
  return page.pmc_width;
}

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
