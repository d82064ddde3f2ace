#include "src/workloads/inputs/documents.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "src/workloads/inputs/line_reader.h"
#include "tests/temporary_file.h"

namespace hwprof {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

Result<DocumentSet> read_text(std::string_view text, DocsFormat format = DocsFormat::kAuto) {
  const TemporaryFile file(text);
  return read_documents(file.path(), format);
}

std::vector<std::string> words_of(const DocumentSet& set, std::size_t i) {
  std::vector<std::string> words;
  for (const WordId id : set.document(i)) words.push_back(set.vocabulary.word(id));
  return words;
}

void expect_refused(std::string_view text, const std::string& part,
                    DocsFormat format = DocsFormat::kAuto) {
  const auto set = read_text(text, format);
  ASSERT_FALSE(set.has_value()) << part;
  EXPECT_EQ(set.error().fault, Fault::kUsage);
  EXPECT_THAT(set.error().what, HasSubstr(part));
  EXPECT_FALSE(set.error().hint.empty());
}

TEST(Documents, TwoColumnsAreLabelsAndText) {
  const auto set = read_text("C15 CCAT\tShares rose 5 percent\nE11\tRates fell\n");
  ASSERT_TRUE(set.has_value()) << set.error().what;
  ASSERT_EQ(set->size(), 2U);
  EXPECT_THAT(words_of(*set, 0), ElementsAre("shares", "rose", "percent"));
  EXPECT_THAT(words_of(*set, 1), ElementsAre("rates", "fell"));
  EXPECT_THAT(set->source, EndsWith("(LibMultiLabel, 2 columns)"));
}

TEST(Documents, ThreeColumnsHaveAnIdInFront) {
  const auto set = read_text("2286\tC15 CCAT\tshares rose\r\n2287\tE11\trates fell\r\n");
  ASSERT_TRUE(set.has_value()) << set.error().what;
  EXPECT_THAT(words_of(*set, 0), ElementsAre("shares", "rose"));
  EXPECT_THAT(set->source, EndsWith("(LibMultiLabel, 3 columns)"));
}

TEST(Documents, PlainTextIsOneDocumentALineAndTabsAreWhiteSpaceThen) {
  const auto set = read_text("one two\nthree\tfour\nfive six\nseven\n");
  ASSERT_TRUE(set.has_value()) << set.error().what;
  ASSERT_EQ(set->size(), 4U);
  EXPECT_THAT(words_of(*set, 1), ElementsAre("three", "four"));
  EXPECT_THAT(set->source, EndsWith("(one document a line)"));
}

TEST(Documents, AskedForLinesColumnsAreText) {
  const auto set = read_text("a\tb\nc\td\n", DocsFormat::kLines);
  ASSERT_TRUE(set.has_value());
  EXPECT_THAT(words_of(*set, 0), ElementsAre("a", "b"));
}

TEST(Documents, OneOddLineAmongManyIsNamed) {
  std::string text;
  for (int i = 0; i < 19; ++i) text += "label\tsome text\n";
  text.insert(text.find('\n') + 1, "\nno columns here\n");  // line 2 is blank, line 3 is odd
  expect_refused(text, "line 3 of ");
  expect_refused(text, "has 1 TAB-separated column, but 19 of 20 lines have 2");
  const auto error = read_text(text).error();
  EXPECT_THAT(error.hint, HasSubstr("--docs-format"));
}

TEST(Documents, FirstOfSeveralOddLinesIsNamed) {
  std::string text = "label\tsome text\n1\tlabel\ttext\nno columns\n";
  for (int i = 0; i < 40; ++i) text += "label\tsome text\n";
  expect_refused(text, "line 2 of ");
  expect_refused(text, "has 3 TAB-separated columns");
}

TEST(Documents, MixedTwoAndThreeColumnsAreRefused) {
  expect_refused("a\tb\nc\td\n1\te\tf\n", "line 3 of ");
}

TEST(Documents, NineTenthsIsTheBorder) {
  std::string text;
  for (int i = 0; i < 9; ++i) text += "label\tsome text\n";
  expect_refused(text + "odd\n", "line 10 of ");
  const auto set = read_text(text + "odd\nodd\n");  // 9 of 11
  ASSERT_TRUE(set.has_value());
  EXPECT_THAT(words_of(*set, 0), ElementsAre("label", "some", "text"));
}

TEST(Documents, AskedForLibMultiLabelEveryLineHasTheColumnsOfTheFirst) {
  expect_refused("no columns\n", "line 1 of ", DocsFormat::kLibMultiLabel);
  expect_refused("no columns\n", "not 2 or 3", DocsFormat::kLibMultiLabel);
  expect_refused("a\tb\n\n1\tc\td\n", "line 3 of ", DocsFormat::kLibMultiLabel);
  expect_refused("a\tb\tc\td\n", "has 4 TAB", DocsFormat::kLibMultiLabel);
}

TEST(Documents, ByteOrderMarkLineEndsAndBlankLinesAreNoText) {
  const auto set = read_text("\xef\xbb\xbfhello\r\n\r\n \t \nworld");
  ASSERT_TRUE(set.has_value()) << set.error().what;
  ASSERT_EQ(set->size(), 2U);
  EXPECT_THAT(words_of(*set, 0), ElementsAre("hello"));
  EXPECT_THAT(words_of(*set, 1), ElementsAre("world"));
  EXPECT_EQ(set->blank_lines, 2U);
}

TEST(Documents, WithoutAnyWordOneIsKeptAndCounted) {
  const auto set = read_text("words\n----\n123 456\n");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->size(), 3U);
  EXPECT_EQ(set->length(1), 0U);
  EXPECT_EQ(set->empty_documents, 2U);
}

TEST(Documents, AreCutAt500Words) {
  std::string text;
  for (int i = 0; i < 501; ++i) text += fmt::format("w{} ", i);
  const auto set = read_text(text + "\nshort\n");
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->length(0), 500U);
  EXPECT_EQ(set->truncated_documents, 1U);
  EXPECT_EQ(set->vocabulary.size(), 501U);  // 500 and "short"
}

TEST(Documents, SameWordSameId) {
  const auto set = read_text("The cat\nthe CAT the\n");
  ASSERT_TRUE(set.has_value());
  EXPECT_THAT(set->words, ElementsAre(0U, 1U, 0U, 1U, 0U));
}

TEST(Documents, WhatIsNotThereOrNotAFileIsNamed) {
  for (const char* path : {"/nonexistent/docs.txt", "", "/tmp"}) {
    const auto set = read_documents(path, DocsFormat::kAuto);
    ASSERT_FALSE(set.has_value());
    EXPECT_EQ(set.error().fault, Fault::kUsage);
    EXPECT_THAT(set.error().what, HasSubstr(path));
  }
  EXPECT_THAT(read_documents("/tmp", DocsFormat::kAuto).error().what, EndsWith("is a directory"));
}

TEST(Documents, UnreadableFilesAreUsageErrors) {
  const TemporaryFile file("text\n");
  ASSERT_EQ(::chmod(file.path().c_str(), 0), 0);
  // Root may read everything; the file system id of one thread can be another user's.
  Result<DocumentSet> set;
  int became = -1;
  std::thread([&] {
    if (::geteuid() == 0) ::setfsuid(65534);
    became = ::setfsuid(static_cast<uid_t>(-1));  // changes nothing, tells the present one
    set = read_documents(file.path(), DocsFormat::kAuto);
  }).join();
  if (became == 0) GTEST_SKIP() << "root that cannot become another user";
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().fault, Fault::kUsage);
  EXPECT_EQ(set.error().code, EACCES);
  EXPECT_THAT(set.error().what, HasSubstr("Permission denied"));
}

TEST(Documents, WithoutADocumentAFileIsRefused) {
  expect_refused("", "holds no document");
  expect_refused("\n \n\t\n", "holds no document");
  expect_refused("\xef\xbb\xbf", "holds no document");
  EXPECT_FALSE(read_documents("/dev/null", DocsFormat::kAuto).has_value());
}

TEST(Documents, OtherEncodingsAreRefusedWithTheirPlace) {
  expect_refused("fine\ncaf\xe9\n", "line 2 of ");
  expect_refused("fine\ncaf\xe9\n", "byte 4 of the line is 0xe9");
  expect_refused("fine\nlabel\tcaf\xe9\n", "line 2 of ", DocsFormat::kLines);
  EXPECT_THAT(read_text("\xff\xfeh").error().hint, HasSubstr("utf-16"));
  // Beyond the 500th word too, and in the labels.
  std::string text;
  for (int i = 0; i < 600; ++i) text += "w ";
  expect_refused(text + "\xff\n", "byte 1201 of the line");
  expect_refused("caf\xe9\ttext\n", "byte 4 of the line");
}

TEST(Documents, NulBytesAreRefusedWithTheirPlace) {
  expect_refused(std::string_view("text\nte\0xt\n", 11), "NUL byte (byte 3 of the line)");
  EXPECT_THAT(read_documents("/dev/zero", DocsFormat::kAuto).error().what, HasSubstr("NUL byte"));
}

TEST(Documents, LinesLongerThanTheLimitAreRefused) {
  const std::string longest(LineReader::kMaxLineBytes, 'x');
  EXPECT_TRUE(read_text(longest + "\nshort\n").has_value());
  EXPECT_TRUE(read_text("short\n" + longest).has_value());
  expect_refused("short\n" + longest + "x\n", "line 2 of ");
  expect_refused(longest + "x", "is longer than 8 MiB");
  expect_refused(std::string(50'000'000, 'x'), "is longer than 8 MiB");
}

TEST(Documents, PipesAreReadAsFilesAre) {
  for (const DocsFormat format : {DocsFormat::kAuto, DocsFormat::kLibMultiLabel}) {
    const TemporaryFile place("");
    const std::string path = place.path() + ".fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
      std::ofstream fifo(path);
      for (int i = 0; i < 100'000; ++i) fifo << "label\tsome text\n";
    });
    const auto set = read_documents(path, format);
    writer.join();
    ::unlink(path.c_str());
    ASSERT_TRUE(set.has_value()) << set.error().what;
    EXPECT_EQ(set->size(), 100'000U);
    EXPECT_THAT(words_of(*set, 99'999), ElementsAre("some", "text"));
  }
}

// Whoever may put a link there would have hwprof wait for a pipe that nobody writes into, or open a
// device.
TEST(Documents, LinksToPipesAndDevicesAreNotRead) {
  const TemporaryFile place("label\ttext\n");
  const std::string pipe = place.path() + ".fifo", link = place.path() + ".link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto read_by_link = [&](const std::string& to) {
    ::unlink(link.c_str());
    EXPECT_EQ(::symlink(to.c_str(), link.c_str()), 0);
    return read_lines(link, 1000, "text");
  };
  EXPECT_TRUE(read_by_link(place.path()));
  for (const std::string& to : {pipe, std::string("/dev/null")}) {
    const auto lines = read_by_link(to);
    ASSERT_FALSE(lines) << to;
    EXPECT_NE(lines.error().what.find("is a device, or"), std::string::npos) << lines.error().what;
  }
  if (::geteuid() == 0 && ::chown(pipe.c_str(), 65534, 65534) == 0) {
    EXPECT_FALSE(read_lines(pipe, 1000, "text")) << "another user's";
  }
  ::unlink(link.c_str());
  ::unlink(pipe.c_str());
}

// Lines that lie across the borders of the reader's chunks.
TEST(Documents, EveryLineOfAFileOfSeveralChunksIsRead) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += fmt::format("w{}\n", i);
  const auto set = read_text(text);
  ASSERT_TRUE(set.has_value());
  ASSERT_EQ(set->size(), 300'000U);
  ASSERT_EQ(set->vocabulary.size(), 300'000U);
  for (WordId i = 0; i < 300'000; i += 997) {
    EXPECT_EQ(set->vocabulary.word(i), fmt::format("w{}", i));
  }
}

}  // namespace
}  // namespace hwprof
