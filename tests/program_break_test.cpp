// The byte by which the C library knows that it is the program's own.
#include "src/observe/audit/program_break.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "src/base/sanitized.h"

namespace hwprof::observe::audit {
namespace {

#if defined(__x86_64__)
TEST(ProgramBreak, KnowsWhatNamesAByte) {
  const unsigned char writes[8] = {0x88, 0x1d, 0x3d, 0x20, 0x09, 0x00};  // mov %bl, 0x9203d(%rip)
  const unsigned char reads[8] = {0x80, 0x3d, 0xfb, 0xff, 0xff, 0xff};   // cmpb $0, -5(%rip)
  const unsigned char compares_with_1[8] = {0x80, 0x3d, 0, 0, 0, 0, 1};
  const unsigned char writes_by_register[8] = {0x88, 0x18};  // mov %bl, (%rax)
  EXPECT_EQ(named_byte(writes).address, reinterpret_cast<u64>(writes) + 6 + 0x9203d);
  EXPECT_TRUE(named_byte(writes).written);
  EXPECT_EQ(named_byte(reads).address, reinterpret_cast<u64>(reads) + 7 - 5);
  EXPECT_FALSE(named_byte(reads).written);
  EXPECT_EQ(named_byte(compares_with_1).address, 0);
  EXPECT_EQ(named_byte(writes_by_register).address, 0);
}
#elif defined(__aarch64__)
TEST(ProgramBreak, KnowsWhatNamesAByte) {
  const u32 code[] = {0xd00003c0,   // adrp x0, 122 pages on
                      0xf0000383,   // adrp x3
                      0x39017813};  // strb w19, [x0, #94]
  const auto* bytes = reinterpret_cast<const unsigned char*>(code);
  const u64 page = reinterpret_cast<u64>(code) & ~u64{4095};
  EXPECT_EQ(named_byte(bytes + 8).address, page + 122 * 4096 + 94);
  EXPECT_TRUE(named_byte(bytes + 8).written);
}
#endif

ElfObject object_of(void* library) {
  link_map* map = nullptr;
  EXPECT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  return ElfObject(map, {});
}

TEST(ProgramBreak, IsTheProgramsOwnAlone) {
  if (HWPROF_SANITIZED) GTEST_SKIP() << "a sanitizer takes no second C library";
  void* own = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (own == nullptr || dlsym(own, "__libc_early_init") == nullptr) {
    GTEST_SKIP() << "no glibc 2.32 or later";
  }
  const unsigned char* first = initial_of(object_of(own));
  ASSERT_NE(first, nullptr) << "this C library is compiled in another way";
  EXPECT_EQ(*first, 1);
  void* other = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
  ASSERT_NE(other, nullptr) << dlerror();
  const unsigned char* second = initial_of(object_of(other));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 0);
  dlclose(other);
  void* mathematics = dlopen("libm.so.6", RTLD_NOW);
  EXPECT_EQ(initial_of(object_of(mathematics)), nullptr);
  dlclose(mathematics);
  dlclose(own);
}

}  // namespace
}  // namespace hwprof::observe::audit
