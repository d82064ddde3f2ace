// Flame graphs of names that try to get out of the format that they stand in.
#include "src/report/flame/flame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
