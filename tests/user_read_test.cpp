// The protocol of reading a counter in user space, on pages made by hand.
#include "counters/user_read.h"

#include <gtest/gtest.h>

namespace hwprof {
namespace {

perf_event_mmap_page page_of(std::uint32_t index, std::int64_t offset, std::uint16_t width) {
  perf_event_mmap_page page{};
  page.lock = 8;
  page.index = index;
  page.offset = offset;
  page.pmc_width = width;
  page.cap_user_rdpmc = 1;
  page.time_enabled = 1000;
  page.time_running = 900;
  return page;
}

TEST(UserRead, AddsTheOffsetToTheRegisterBeforeTheIndex) {
  const perf_event_mmap_page page = page_of(4, 1000, 48);
  const auto reading = read_user_page(page, [](unsigned index) {
    EXPECT_EQ(index, 3u);
    return std::uint64_t{234};
  });
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->value, 1234u);
  EXPECT_EQ(reading->missed_ns, 100u);
}

// The kernel sets a counter to -period and adds the period to the offset: without the sign the
// count would be off by 2^48.
TEST(UserRead, ExtendsTheSignOfANarrowCounter) {
  const perf_event_mmap_page page = page_of(1, 1000, 48);
  const auto minus_ten = [](unsigned) { return (std::uint64_t{1} << 48) - 10; };
  EXPECT_EQ(read_user_page(page, minus_ten)->value, 990u);
}

TEST(UserRead, TakesA64BitCounterAsItIs) {
  const perf_event_mmap_page page = page_of(1, 5, 64);
  const auto large = [](unsigned) { return std::uint64_t{1} << 63; };
  EXPECT_EQ(read_user_page(page, large)->value, (std::uint64_t{1} << 63) + 5);
}

TEST(UserRead, IndexZeroIsNoCountAlthoughTheCapabilityIsSet) {
  const perf_event_mmap_page page = page_of(0, 1000, 48);
  EXPECT_FALSE(read_user_page(page, [](unsigned) { return std::uint64_t{1}; }).has_value());
}

TEST(UserRead, WithoutTheCapabilityTheRegisterIsNotTouched) {
  perf_event_mmap_page page = page_of(2, 1000, 48);
  page.cap_user_rdpmc = 0;
  const auto fault = [](unsigned) -> std::uint64_t {
    ADD_FAILURE() << "rdpmc would kill the program here";
    return 0;
  };
  EXPECT_FALSE(read_user_page(page, fault).has_value());
}

TEST(UserRead, ReadsAgainWhenTheKernelChangedThePageMeanwhile) {
  perf_event_mmap_page page = page_of(1, 1000, 48);
  int reads = 0;
  const auto interrupted = [&](unsigned) {
    if (++reads == 1) {
      page.lock += 2;
      page.offset = 5000;
      page.time_running = 1000;
    }
    return std::uint64_t{7};
  };
  const auto reading = read_user_page(page, interrupted);
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(reading->value, 5007u);
  EXPECT_EQ(reading->missed_ns, 0u);
}

TEST(UserRead, WhatCannotBeMappedIsEmpty) {
  EXPECT_EQ(UserPage(-1).get(), nullptr);
  EXPECT_EQ(UserPage().get(), nullptr);
}

}  // namespace
}  // namespace hwprof
