// Which pages of a mapped file the loader has made read-only, and which hold data alone.
#include "src/observe/audit/elf_object.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace hwprof::observe::audit {
namespace {

constexpr std::size_t kLargePage = 65536;

// A file of two segments, of which the loader seals the part that is said.
class MappedFile {
 public:
  MappedFile(u64 sealed_begin, u64 sealed_end, u32 flags)
      : memory_(std::aligned_alloc(kLargePage, 4 * kLargePage), &std::free) {
    std::memset(memory_.get(), 0, 4 * kLargePage);
    auto* header = static_cast<Elf64_Ehdr*>(memory_.get());
    std::memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_phoff = sizeof *header;
    header->e_phentsize = sizeof(Elf64_Phdr);
    header->e_phnum = 3;
    auto* segments = reinterpret_cast<Elf64_Phdr*>(header + 1);
    segments[0].p_type = PT_LOAD;
    segments[0].p_flags = flags;
    segments[0].p_memsz = 4 * kLargePage;
    segments[1].p_type = PT_GNU_RELRO;
    segments[1].p_vaddr = sealed_begin;
    segments[1].p_memsz = sealed_end - sealed_begin;
    segments[2].p_type = PT_DYNAMIC;
    segments[2].p_vaddr = 2 * kLargePage;
    map_.l_addr = base();
    map_.l_name = name_;
    map_.l_ld = reinterpret_cast<Elf64_Dyn*>(base() + 2 * kLargePage);  // empty
  }
  [[nodiscard]] u64 base() const { return reinterpret_cast<u64>(memory_.get()); }
  [[nodiscard]] ElfObject object(u64 page_bytes) const {
    return ElfObject(&map_, {.page_bytes = page_bytes});
  }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_;
  char name_[8] = "library";
  link_map map_{};
};

TEST(ElfObject, IsSealedByWholePages) {
  const MappedFile file(0x1000, 0x11000, PF_R | PF_W);
  const u64 base = file.base();
  const ElfObject small = file.object(4096), large = file.object(kLargePage);
  EXPECT_FALSE(small.is_sealed(base + 0xfff));
  EXPECT_TRUE(small.is_sealed(base + 0x1000));
  EXPECT_TRUE(small.is_sealed(base + 0x10fff));
  EXPECT_FALSE(small.is_sealed(base + 0x11000));
  EXPECT_TRUE(large.is_sealed(base));
  EXPECT_TRUE(large.is_sealed(base + 0xffff));
  EXPECT_FALSE(large.is_sealed(base + 0x10000)) << "its page holds variables as well";
}

TEST(ElfObject, HasNoCodeInItsData) {
  const MappedFile data(0, 0, PF_R | PF_W), both(0, 0, PF_R | PF_W | PF_X), code(0, 0, PF_R | PF_X);
  EXPECT_TRUE(data.object(4096).is_data(data.base() + 64));
  EXPECT_FALSE(both.object(4096).is_data(both.base() + 64));
  EXPECT_FALSE(code.object(4096).is_data(code.base() + 64));
}

}  // namespace
}  // namespace hwprof::observe::audit
