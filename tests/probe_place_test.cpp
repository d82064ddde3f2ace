// At which instructions the kernel sets a uprobe.
#include "src/observe/calls/probe_place.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hwprof::observe {
namespace {

bool takes(std::vector<std::uint8_t> code) { return x86_takes_probe(code); }

TEST(ProbePlace, IsWhereFunctionsUsuallyBegin) {
  EXPECT_TRUE(takes({0x55}));                          // push %rbp
  EXPECT_TRUE(takes({0x41, 0x57}));                    // push %r15
  EXPECT_TRUE(takes({0xf3, 0x0f, 0x1e, 0xfa}));        // endbr64
  EXPECT_TRUE(takes({0x48, 0x83, 0xec, 0x18}));        // sub $24,%rsp
  EXPECT_TRUE(takes({0xe9, 0, 0, 0, 0}));              // jmp
  EXPECT_TRUE(takes({0x66, 0x0f, 0xef, 0xc0}));        // pxor %xmm0,%xmm0
  EXPECT_TRUE(takes({0xc5, 0xfa, 0x10, 0x02}));        // vmovss (%rdx),%xmm0
  EXPECT_TRUE(takes({0xc5, 0xf8, 0x57, 0xc0}));        // vxorps %xmm0,%xmm0,%xmm0
  EXPECT_TRUE(takes({0x0f, 0x1f, 0x44, 0x00, 0x00}));  // nop
}

TEST(ProbePlace, IsNotWhereTheKernelTakesAnOpcodeForAnother) {
  EXPECT_FALSE(takes({0xc5, 0xf9, 0x6e, 0x3a}));                    // vmovd (%rdx),%xmm7
  EXPECT_FALSE(takes({0xc5, 0xfe, 0x6f, 0x02}));                    // vmovdqu (%rdx),%ymm0
  EXPECT_FALSE(takes({0xc4, 0xe1, 0xf9, 0x6e, 0xc7}));              // vmovq %rdi,%xmm0
  EXPECT_FALSE(takes({0xc5, 0xf9, 0xef, 0xc0}));                    // vpxor %xmm0,%xmm0,%xmm0
  EXPECT_FALSE(takes({0x62, 0xf1, 0x7c, 0x48, 0x6f, 0x02}));        // of EVEX
  EXPECT_FALSE(takes({0x2e, 0x0f, 0x1f, 0x84, 0x00}));              // cs nopw
  EXPECT_FALSE(takes({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00}));  // data16 cs nopw
  EXPECT_FALSE(takes({0xf4}));                                      // hlt
  EXPECT_FALSE(takes({}));
  EXPECT_FALSE(takes({0xc5, 0xf9}));  // cut
}

}  // namespace
}  // namespace hwprof::observe
