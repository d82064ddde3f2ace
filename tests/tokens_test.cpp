// Words must be those of LibMultiLabel's tokenizer, so the expected ones were printed by
// Python 3.11:
//   [t.lower() for t in re.findall(r'\w+', text) if not t.isnumeric()]
// and, where python3 is installed, it is asked again about random Unicode text.
#include "src/workloads/inputs/tokens.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words_of(std::string_view text, std::size_t limit = 1000) {
  std::vector<std::string> words;
  tokenize(text, limit, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

struct Expected {
  const char* text;
  std::vector<std::string> words;
};

const Expected kPythonSays[] = {
    {"The quick brown fox's 2nd jump, 1984!", {"the", "quick", "brown", "fox", "s", "2nd", "jump"}},
    {"foo_bar __init__ _ _1 1_000 1000", {"foo_bar", "__init__", "_", "_1", "1_000"}},
    {"\303\205ngstr\303\266m na\303\257ve CAF\303\211 \304\260stanbul \304\261I \303\237 "
     "\341\272\236",
     {"\303\245ngstr\303\266m", "na\303\257ve", "caf\303\251", "i\314\207stanbul", "\304\261i",
      "\303\237", "\303\237"}},
    {"\316\237\316\224\316\245\316\243\316\243\316\225\316\245\316\243 \316\243 \316\221\316\243 "
     "\316\243\316\221 \316\221\316\243.",
     {"\316\277\316\264\317\205\317\203\317\203\316\265\317\205\317\202", "\317\203",
      "\316\261\317\202", "\317\203\316\261", "\316\261\317\202"}},
    {"\331\243\331\244\331\245 \331\241abc \302\275 \302\262 x\302\262 \342\205\267 \342\205\247 "
     "\342\205\247a \344\270\200\344\272\214\344\270\211 \344\270\255\346\226\207\345\255\227 "
     "\344\270\211\345\215\201 \344\270\207",
     {"\331\241abc", "x\302\262", "\342\205\267a", "\344\270\255\346\226\207\345\255\227"}},
    {"\340\244\271\340\244\277\340\244\250\340\245\215\340\244\246\340\245\200 "
     "\340\244\250\340\244\256\340\244\270\340\245\215\340\244\244\340\245\207",
     {"\340\244\271", "\340\244\250", "\340\244\246", "\340\244\250\340\244\256\340\244\270",
      "\340\244\244"}},
    {"e\314\201te\314\201 \303\251t\303\251", {"e", "te", "\303\251t\303\251"}},
    {"don't re-use e-mail@example.com", {"don", "t", "re", "use", "e", "mail", "example", "com"}},
    {"\320\237\321\200\320\270\320\262\320\265\321\202 \320\234\320\230\320\240 \320\201\320\226",
     {"\320\277\321\200\320\270\320\262\320\265\321\202", "\320\274\320\270\321\200",
      "\321\221\320\266"}},
    {"\346\227\245\346\234\254\350\252\236\343\203\206\343\202\255\343\202\271\343\203\210 "
     "\357\275\206\357\275\225\357\275\214\357\275\214\357\274\267\357\274\251\357\274\244\357\274"
     "\264\357\274\250 \357\274\241\357\274\242\357\274\243\357\274\221\357\274\222\357\274\223 "
     "\357\274\221\357\274\222\357\274\223",
     {"\346\227\245\346\234\254\350\252\236\343\203\206\343\202\255\343\202\271\343\203\210",
      "\357\275\206\357\275\225\357\275\214\357\275\214\357\275\227\357\275\211\357\275\204\357\275"
      "\224\357\275\210",
      "\357\275\201\357\275\202\357\275\203\357\274\221\357\274\222\357\274\223"}},
    {"\302\252\302\272 \312\260\316\243\312\260 \307\205 \357\254\203 \305\211",
     {"\302\252\302\272", "\312\260\317\203\312\260", "\307\206", "\357\254\203", "\305\211"}},
    {"\360\235\220\200\360\235\237\216 \360\235\237\217\360\235\237\220 "
     "\360\220\220\200\360\220\220\250 \360\237\231\202ok",
     {"\360\235\220\200\360\235\237\216", "\360\220\220\250\360\220\220\250", "ok"}},
    {"zero\342\200\213width soft\302\255hyphen nb\302\240sp",
     {"zero", "width", "soft", "hyphen", "nb", "sp"}},
    {"a\013b\014c\034d\302\205e", {"a", "b", "c", "d", "e"}},
    {"\352\231\256 \315\205\316\221\315\205\316\243 \316\221\316\243\315\205 "
     "\316\221\302\267\316\243",
     {"\352\231\256", "\316\261", "\317\203", "\316\261\317\202", "\316\261", "\317\203"}},
    {"\343\212\200 \343\211\210 \340\274\263 x\340\274\263 \343\200\207 \351\233\266",
     {"x\340\274\263"}},
    {"\341\276\274 \341\276\210 \316\251 K \303\205",
     {"\341\276\263", "\341\276\200", "\317\211", "k", "\303\245"}},
};

TEST(Tokens, AreThoseOfPython) {
  for (const Expected& expected : kPythonSays) {
    EXPECT_EQ(words_of(expected.text), expected.words) << expected.text;
  }
}

TEST(Tokens, StopAtTheLimitAndSayThatThereWereMore) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view word) { words.emplace_back(word); };
  EXPECT_FALSE(tokenize("a b 1 c 2", 3, add));  // numbers do not count
  EXPECT_TRUE(tokenize("d e f", 2, add));
  EXPECT_THAT(words, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(Tokens, NothingInNothingOut) {
  EXPECT_TRUE(words_of("").empty());
  EXPECT_TRUE(words_of(" \t.,;: 12 34").empty());
}

TEST(Utf8, IsJudgedAsStrictlyAsPythonDoes) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("plain ASCII, longer than eight bytes"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("\303\251\344\270\255\360\237\231\202"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("0123456789\351"), 10U);    // Latin-1
  EXPECT_EQ(find_invalid_utf8("abc\355\240\200"), 3U);    // a surrogate
  EXPECT_EQ(find_invalid_utf8("\300\257"), 0U);           // overlong
  EXPECT_EQ(find_invalid_utf8("a\364\220\200\200"), 1U);  // above U+10FFFF
  EXPECT_EQ(find_invalid_utf8("ab\344\270"), 2U);         // cut off
}

// Code points of which Unicode versions have long agreed: Python and ICU differ in age.
std::string random_text(SplitMix64& random) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::uint32_t planes[] = {0x80, 0x800, 0x3000, 0x10000, 0x20000};
    const auto c = static_cast<UChar32>(random.below(planes[random.below(5)]));
    UVersionInfo age;
    u_charAge(c, age);
    if (c == '\n' || c == '\r' || c == 0 || age[0] == 0 || age[0] > 11 || U_IS_SURROGATE(c))
      continue;
    char bytes[4];
    std::size_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, c);
    text.append(bytes, size);
    if (random.below(6) == 0)
      text += random.below(2) == 0 ? "\316\243" : "\316\221";  // sigma, alpha
  }
  return text;
}

TEST(Tokens, AgreeWithTheInstalledPythonOnRandomText) {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3 here";
  const std::string path = fmt::format("{}hwprof_tokens_{}", ::testing::TempDir(), ::getpid());
  SplitMix64 random(7);
  std::vector<std::string> texts;
  {
    std::ofstream file(path);
    for (int i = 0; i < 3000; ++i) {
      texts.push_back(random_text(random));
      file << texts.back() << '\n';
    }
  }
  const std::string command =
      "python3 -c \"import re,sys\n"
      "for l in open(sys.argv[1], encoding='utf-8', newline='\\n'):\n"
      "  l = l[:-1]\n"
      "  w = [t.lower() for t in re.findall(r'\\w+', l) if not t.isnumeric()]\n"
      "  sys.stdout.buffer.write((' '.join(w) + chr(10)).encode())\n\" " +
      path;
  std::FILE* python = ::popen(command.c_str(), "r");
  ASSERT_NE(python, nullptr);
  std::string answer;
  char chunk[4096];
  for (std::size_t got; (got = std::fread(chunk, 1, sizeof chunk, python)) > 0;) {
    answer.append(chunk, got);
  }
  EXPECT_EQ(::pclose(python), 0);
  std::remove(path.c_str());
  std::string ours;
  for (const std::string& text : texts) {
    std::string line;
    for (const std::string& word : words_of(text)) line += (line.empty() ? "" : " ") + word;
    ours += line + '\n';
  }
  EXPECT_TRUE(ours == answer)
      << "first difference at byte "
      << std::mismatch(ours.begin(), ours.end(), answer.begin(), answer.end()).first - ours.begin();
}

}  // namespace
}  // namespace hwprof
