// Flame graphs of names that try to get out of the format that they stand in.
#include "src/report/flame/flame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

namespace hwprof::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<FoldedStack> kHostile = {{{"a;b", "</script><script>alert(1)</script>"}, 3},
                                           {{"a;b", "x\" onload=\"alert(1)"}, 2},
                                           {{"a;b", "& ' ]]> <!--"}, 1},
                                           {{"a;b", "new\nline 7"}, 1},
                                           {{"a;b", "\x1b[31mred"}, 1},
                                           {{"a;b", "\xff\xfe"}, 1},
                                           {{"a;b", ""}, 1}};

const std::vector<FoldedStack> kPlain = {{{"python3", "main", "sgemm_kernel"}, 30},
                                         {{"python3", "main"}, 10}};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Flame, FoldsStacksIntoLines) {
  EXPECT_EQ(folded_text(kPlain), "python3;main;sgemm_kernel 30\npython3;main 10\n");
  EXPECT_EQ(folded_text({}), "");
}

TEST(Flame, KeepsAFoldedStackOnOneLineWithItsFrames) {
  const std::string text = folded_text(kHostile);
  EXPECT_EQ(count(text, "\n"), kHostile.size());
  EXPECT_EQ(count(text, ";"), kHostile.size());
  EXPECT_THAT(text, HasSubstr("a:b;new\\x0aline 7 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Flame, LetsNoNameOutOfTheDrawing) {
  for (const std::string& text :
       {flame_svg(kHostile, {"t </title><script>alert(2)</script>", 997}),
        flame_html(kHostile, {"t </title><script>alert(2)</script>", 997})}) {
    EXPECT_EQ(count(text, "<script"), 1U);
    EXPECT_EQ(count(text, "</script"), 1U);
    EXPECT_EQ(count(text, "]]>"), 1U);
    EXPECT_THAT(text, Not(HasSubstr("<!--")));
    EXPECT_THAT(text, Not(HasSubstr("\" onload")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\xff")));
    EXPECT_THAT(text, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
    EXPECT_THAT(text, HasSubstr("new\\x0aline 7"));
  }
}

TEST(Flame, GivesABoxTheWidthOfItsShare) {
  const std::string text = flame_svg(kPlain, {"title", 10});
  EXPECT_THAT(text, HasSubstr("<title>all\n40 samples, 100.00 %, 4 s</title>"));
  EXPECT_THAT(text, HasSubstr("<title>sgemm_kernel\n30 samples, 75.00 %, 3 s</title>"
                              "<rect x=\"10.00\" y=\"54\" width=\"885.00\""));
  EXPECT_THAT(flame_svg({}, {"title", 997}), HasSubstr("no samples"));
}

// What tests/cli/pprof_test.py decodes, of names that no program should have.
TEST(Flame, PacksAProfileWithoutWhatATerminalWouldObey) {
  PlacedStacks stacks;
  stacks.objects = {{"/a\x1b[31m.so", "", 5000}, {"/b.so", "beef", 0}};
  stacks.places = {{.object = 1, .offset = 16, .lines = {{.file = "", .function = "\xff\xfe"}}},
                   {.object = {}, .offset = 0, .lines = {{"new\nline.py", "f", 7, 3}}}};
  stacks.stacks = {{"x\x1b]0;title", {0, 1}, 3}};
  const std::string packed = pprof_profile(stacks, {.title = "t", .hz = 1000});
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  std::string text(10'000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  EXPECT_THAT(text, HasSubstr("/a\\x1b[31m.so"));
  EXPECT_THAT(text, HasSubstr("\\xff\\xfe"));
  EXPECT_THAT(text, HasSubstr("new\\x0aline.py"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  // Three samples of a millisecond, in field 2 of a sample: 3 and 3,000,000.
  EXPECT_THAT(text, HasSubstr(std::string("\x12\x05\x03\xc0\x8d\xb7\x01", 7)));
  // The mapping of the second object behind the 8 KiB of the first: from 12 KiB to 16 KiB.
  EXPECT_THAT(text, HasSubstr(std::string("\x08\x02\x10\x80\x60\x18\x80\x80\x01", 9)));
}

TEST(Flame, WritesASampledSpeedscopeProfile) {
  const auto file = nlohmann::json::parse(speedscope_json(kPlain, {"title", 10}));
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  EXPECT_EQ(file["shared"]["frames"].size(), 3U);
  const auto& profile = file["profiles"][0];
  EXPECT_EQ(profile["type"], "sampled");
  EXPECT_EQ(profile["unit"], "seconds");
  EXPECT_EQ(profile["samples"], (nlohmann::json{{0, 1, 2}, {0, 1}}));
  EXPECT_EQ(profile["weights"], (nlohmann::json{3.0, 1.0}));
  EXPECT_EQ(profile["endValue"], 4.0);
  EXPECT_EQ(file["shared"]["frames"][2]["name"], "sgemm_kernel");
  // Bytes that are no UTF-8 would make the library throw.
  const auto hostile = nlohmann::json::parse(speedscope_json(kHostile, {"\xff", 0}));
  EXPECT_EQ(hostile["profiles"][0]["unit"], "none");
  EXPECT_EQ(hostile["name"], "\\xff");
}

}  // namespace
}  // namespace hwprof::report
