// Names of regions, compared in place: any text, anywhere, and never a byte of another page.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "counters/regions/region_tree.h"

namespace hwprof {
namespace {

// One page that may be read between two that may not.
class LonelyPage {
 public:
  LonelyPage() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* pages = mmap(nullptr, 3 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    first_ = static_cast<char*>(pages) + bytes_;
    EXPECT_EQ(mprotect(first_, bytes_, PROT_READ | PROT_WRITE), 0);
  }
  LonelyPage(const LonelyPage&) = delete;
  LonelyPage& operator=(const LonelyPage&) = delete;
  ~LonelyPage() { munmap(first_ - bytes_, 3 * bytes_); }
  char* at_the_start(const std::string& text) { return put(first_, text); }
  char* at_the_end(const std::string& text) { return put(first_ + bytes_ - text.size() - 1, text); }

 private:
  static char* put(char* place, const std::string& text) {
    return static_cast<char*>(std::memcpy(place, text.c_str(), text.size() + 1));
  }
  std::size_t bytes_;
  char* first_ = nullptr;
};

std::string text_of(std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

TEST(RegionName, IsTheSameTextWhereverThatStands) {
  alignas(16) char place[64];
  for (std::size_t length = 0; length <= 33; ++length)
    for (std::size_t from = 0; from < 8; ++from)
      for (std::size_t to = 0; to < 8; ++to) {
        const std::string text = text_of(length);
        // What stands around the text is no part of it.
        std::memset(place, 'x', sizeof place);
        std::memcpy(place + from, text.c_str(), length + 1);
        RegionName name(place + from);
        EXPECT_TRUE(name.is(place + from));
        std::memset(place, 'y', sizeof place);
        std::memcpy(place + to, text.c_str(), length + 1);
        EXPECT_TRUE(name.is(place + to)) << text << from << to;
        name.stand_like(place + to);
        EXPECT_TRUE(name.is(place + to)) << text << from << to;
        EXPECT_EQ(name.text(), text);
      }
}

TEST(RegionName, IsNoOtherTextAtTheSamePlace) {
  alignas(16) char place[64] = {};
  for (std::size_t length = 1; length <= 33; ++length)
    for (std::size_t at = 0; at < 8; ++at) {
      const std::string text = text_of(length);
      std::memcpy(place + at, text.c_str(), length + 1);
      const RegionName name(place + at);
      for (std::size_t changed = 0; changed <= length; ++changed) {
        const char was = place[at + changed];
        place[at + changed] = changed == length ? 'z' : 'A';  // also: longer
        place[at + length + 1] = '\0';
        EXPECT_FALSE(name.is(place + at)) << text << at << changed;
        place[at + changed] = '\0';  // shorter
        EXPECT_EQ(name.is(place + at), changed == length);
        place[at + changed] = was;
      }
      EXPECT_TRUE(name.is(place + at));
    }
}

TEST(RegionName, NoByteOfAnotherPageIsRead) {
  LonelyPage page;
  for (std::size_t length = 0; length <= 33; ++length) {
    const std::string text = text_of(length);
    const RegionName first(page.at_the_start(text)), last(page.at_the_end(text));
    EXPECT_TRUE(first.is(page.at_the_start(text)));
    EXPECT_TRUE(last.is(page.at_the_end(text)));
    // A shorter text at the place of a longer one, that ends with the page.
    if (length >= 8) {
      EXPECT_FALSE(last.is(page.at_the_end(text_of(length - 8))));
    }
  }
}

}  // namespace
}  // namespace hwprof
