// The protocol of reading a counter in user space, on pages made by hand.
#include "counters/perf/user_read.h"

#include <gtest/gtest.h>

#include <random>

#include "counters/regions/region_edge.h"

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

template <class ReadRegister>
std::optional<UserReading> read_page(const perf_event_mmap_page& page, ReadRegister read_register) {
  UserReading reading;
  const auto of_index = [&](unsigned index, std::uint64_t& content) {
    content = read_register(index);
    return true;
  };
  if (!read_user_page(page, of_index, reading)) return std::nullopt;
  return reading;
}

TEST(UserRead, AddsTheOffsetToTheRegisterOfTheIndex) {
  const perf_event_mmap_page page = page_of(4, 1000, 48);
  const auto reading = read_page(page, [](unsigned index) {
    EXPECT_EQ(index, 4u);
    return std::uint64_t{234};
  });
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->value, 1234u);
  EXPECT_EQ(reading->missed_ns, 100u);
}

// The kernel sets a counter to -period and adds the period to the offset.
TEST(UserRead, ANarrowCounterBelowZeroCountsOn) {
  const perf_event_mmap_page page = page_of(1, 1000, 48);
  const auto minus_ten = [](unsigned) { return (std::uint64_t{1} << 48) - 10; };
  EXPECT_EQ(count_since(900, read_page(page, minus_ten)->value, 64 - 48), 990u);
}

// Seen on arm64: the offset was made with the register's sign, then without.
TEST(UserRead, ACountThatIsOffByTheWidthOfTheRegisterIsMended) {
  const std::uint64_t width = std::uint64_t{1} << 48;
  EXPECT_EQ(count_since(1000, 1500 - width, 16), 1500u);
  EXPECT_EQ(count_since(1000, 1500 + width, 16), 1500u);
  EXPECT_EQ(count_since(1000, 1500, 16), 1500u);
  EXPECT_EQ(count_since(1000, ~std::uint64_t{0}, 0), ~std::uint64_t{0});
}

// A counter as the kernel keeps one (armpmu_event_set_period, armpmu_event_update): it starts at
// -period, is read into the count now and then, and set anew when it overflows.
class KernelCounter {
 public:
  explicit KernelCounter(unsigned width) : mask_(~std::uint64_t{0} >> (64 - width)), page_{} {
    page_ = page_of(1, 0, static_cast<std::uint16_t>(width));
    set_period();
  }
  void happen(std::uint64_t events) {
    truth_ += events;
    const std::uint64_t before = register_;
    register_ = (register_ + events) & mask_;
    if (register_ < before) {
      update();
      set_period();
    }
  }
  // By a read() of anybody: the page stays as it is.
  void update() {
    count_ += (register_ - previous_) & mask_;
    previous_ = register_;
  }
  // The thread was scheduled: the page is made anew, of a register read without its sign.
  void publish() {
    update();
    write_page();
  }
  [[nodiscard]] std::uint64_t truth() const { return truth_; }
  [[nodiscard]] std::uint64_t content() const { return register_; }
  [[nodiscard]] const perf_event_mmap_page& page() const { return page_; }

 private:
  void set_period() {
    previous_ = 0 - (mask_ >> 1);  // with its sign
    register_ = previous_ & mask_;
    write_page();
  }
  void write_page() {
    page_.lock += 2;
    page_.offset = static_cast<std::int64_t>(count_ - previous_);
  }

  std::uint64_t mask_, register_ = 0, previous_ = 0, count_ = 0, truth_ = 0;
  perf_event_mmap_page page_;
};

// Over thousands of overflows: far past 2^32 where the register has 32 bits or fewer.
TEST(UserRead, CountsPassTheWidthOfTheRegisterExactly) {
  for (const unsigned width : {32U, 40U, 48U, 64U}) {
    KernelCounter counter(width);
    std::mt19937_64 random(width);
    std::uint64_t last = 0;
    const std::uint64_t most = (~std::uint64_t{0} >> (64 - width)) / 8;
    for (int i = 0; i < 20000; ++i) {
      if (width == 64 && counter.truth() > most * 6) break;
      counter.happen(random() % most);
      if (random() % 3 == 0) counter.update();
      if (random() % 5 == 0) counter.publish();
      const auto reading = read_page(counter.page(), [&](unsigned) { return counter.content(); });
      ASSERT_TRUE(reading.has_value());
      last = count_since(last, reading->value, 64 - width);
      ASSERT_EQ(last, counter.truth()) << width << " bits, reading " << i;
    }
    EXPECT_GT(counter.truth(), std::uint64_t{1} << 32);
  }
}

TEST(UserRead, TakesA64BitCounterAsItIs) {
  const perf_event_mmap_page page = page_of(1, 5, 64);
  const auto large = [](unsigned) { return std::uint64_t{1} << 63; };
  EXPECT_EQ(read_page(page, large)->value, (std::uint64_t{1} << 63) + 5);
}

TEST(UserRead, IndexZeroIsNoCountAlthoughTheCapabilityIsSet) {
  const perf_event_mmap_page page = page_of(0, 1000, 48);
  const auto fault = [](unsigned) -> std::uint64_t {
    ADD_FAILURE() << "there is no such register";
    return 0;
  };
  EXPECT_FALSE(read_page(page, fault).has_value());
  EXPECT_FALSE(readable_width(page).has_value());
}

TEST(UserRead, ARegisterThatIsNotKnownIsNotRead) {
  UserReading reading;
  const auto unknown = [](unsigned, std::uint64_t&) { return false; };
  const perf_event_mmap_page page = page_of(33, 1000, 64);
  EXPECT_FALSE(read_user_page(page, unknown, reading));
}

TEST(UserRead, OnlyWithTheCapabilityAPageIsReadAtAll) {
  perf_event_mmap_page page = page_of(2, 1000, 48);
  EXPECT_EQ(readable_width(page), 48u);
  page.cap_user_rdpmc = 0;
  EXPECT_FALSE(readable_width(page).has_value());
}

TEST(UserRead, AWidthThatNoRegisterHasIsNotRead) {
  for (const std::uint16_t width : {0, 65}) {
    const perf_event_mmap_page page = page_of(1, 0, width);
    EXPECT_FALSE(readable_width(page).has_value()) << width;
  }
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
  const auto reading = read_page(page, interrupted);
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
