// The HTML page: what comes from outside stays text, the words are those of the other formats, and
// a saved report says what it said when it was made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "src/commands/report/saved.h"
#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</script><img src=x onerror=\"alert(1)\">";

std::string page_of(const Document& document, const std::string& json = "{}") {
  const PageReport report{document, json};
  return as_html({&report, 1});
}

std::size_t count_of(const std::string& page, const std::string& text) {
  std::size_t count = 0;
  for (auto at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++count;
  return count;
}

TEST(Page, TextFromOutsideStaysText) {
  const std::string hostile = kHostile;
  Document document{.title = hostile};
  document.add(Headline{hostile, true})
      .add(Paragraph{hostile})
      .add(Paragraph{hostile, Paragraph::Kind::kCommand})
      .add(Fields{hostile, {{hostile, hostile, {hostile}}}})
      .add(Chart{hostile, hostile})
      .add(Table{.title = hostile,
                 .columns = {{hostile}},
                 .rows = {{hostile, {hostile}, hostile}},
                 .notes = {hostile}});
  const std::string page = page_of(document, "{\"schema\": \"" + hostile + "\"}");
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u003cimg"));
  // The data's element and the page's own script, if it has one.
  EXPECT_EQ(count_of(page, "<script"), count_of(page, "</script"));
}

TEST(Page, ControlCharactersAreShownNotSent) {
  const std::string page = page_of(Document{.title = "t"}.add(Paragraph{"a\x1b[2Jb\xff"}));
  EXPECT_THAT(page, HasSubstr("a\\x1b[2Jb\\xff"));
}

TEST(Page, NeedsNoOtherFileAndRunsItsOwnScriptAlone) {
  const std::string page = page_of(Document{.title = "t"});
  EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr(" style=\"")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
}

TEST(Page, HasItsSectionsInOneOrder) {
  Document document{.title = "t"};
  document.in(Section::kMachine).add(Paragraph{"the machine"});
  document.in(Section::kVerdict).add(Headline{"the verdict", false});
  const std::string page = page_of(document);
  EXPECT_LT(page.find("the verdict"), page.find("the machine"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#r1-machine\">Machine</a>"));
  EXPECT_THAT(page, Not(HasSubstr("r1-roofline"))) << "a section of nothing";
}

TEST(Page, DoesNotMarkAsBadWhatWasNotJudged) {
  Document document{.title = "t"};
  document.add(Headline{.text = "not judged", .judged = false});
  const std::string page = page_of(document);
  EXPECT_THAT(
      page, HasSubstr("class=\"headline unjudged\"><span class=\"sign\" aria-hidden=\"true\">?<"));
  EXPECT_THAT(as_text(document, {.colour = true}), Not(HasSubstr("\x1b[1;31m")));
}

TEST(Page, HasWhatIsFullAndWhatIsOfThePageAlone) {
  Document document{.title = "t"};
  document.add(Paragraph{"in short"}, Detail::kBrief)
      .add(Paragraph{"at length"}, Detail::kFull)
      .add(Paragraph{"to be copied"}, Detail::kPage);
  EXPECT_THAT(page_of(document), testing::AllOf(HasSubstr("at length"), HasSubstr("to be copied"),
                                                Not(HasSubstr("in short"))));
  for (const bool full : {false, true})
    EXPECT_THAT(as_text(document, {.full = full}), Not(HasSubstr("copied")));
  EXPECT_THAT(as_markdown(document), Not(HasSubstr("copied")));
}

TEST(Page, HasAllRowsOfATableThatIsLongInText) {
  Table table{.title = "Many", .columns = {{"row"}, {"n"}}, .rows = {}, .most_rows = 2};
  for (const char* name : {"first", "second", "third"}) table.rows.push_back({"", {name, "1"}});
  const Document document = Document{.title = "t"}.add(table);
  EXPECT_THAT(page_of(document), HasSubstr("third"));
  const std::string text = as_text(document, {.full = true});
  EXPECT_THAT(text, Not(HasSubstr("third")));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
}

TEST(Page, OfSeveralReportsHasEachUnderItsName) {
  const PageReport reports[] = {{Document{.title = "one"}, "{}"}, {Document{.title = "two"}, "{}"}};
  const std::string page = as_html(reports);
  EXPECT_THAT(page, HasSubstr("<a href=\"#r2\">two</a>"));
  EXPECT_THAT(page, HasSubstr("id=\"r2-json\""));
}

Profile sampled_profile() {
  Profile profile;
  Executed& executed = profile.executed.emplace();
  executed.samples = 100;
  executed.frequency_hz = 997;
  executed.by_library = {{"/usr/lib/libblas.so.3", "", 100, 1}};
  executed.by_symbol = {{"sgemm_", "/usr/lib/libblas.so.3", 100, 1}};
  executed.stacks = {{{"hwprof", "main", "sgemm_"}, 100}};
  executed.notes = {"sampled over forward passes, variant im2col"};
  return profile;
}

TEST(Page, OfAProfileDrawsTheStacksThatWereSampled) {
  const std::string page = page_of(profile_document(sampled_profile()));
  EXPECT_THAT(page, HasSubstr("data-chart=\"stacks\""));
  EXPECT_THAT(page, HasSubstr("CPU time by symbol"));
  EXPECT_THAT(page, HasSubstr("sampled over forward passes, variant im2col"));
  EXPECT_THAT(page_of(profile_document(Profile())), Not(HasSubstr("r1-hotspots")));
}

TEST(Page, OfAProfileSaysWhyNothingWasSampled) {
  Profile profile;
  profile.executed.emplace().reason = "perf_event_open is not allowed";
  const std::string page = page_of(profile_document(profile));
  EXPECT_THAT(page, HasSubstr("No sample of the CPU time: perf_event_open is not allowed."));
  EXPECT_THAT(page, Not(HasSubstr("data-chart=\"stacks\"")));
}

// --- Saved reports

std::string golden(const std::string& name) {
  std::ifstream file(std::string(DATA) + "/../golden/" + name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class SavedReport : public testing::TestWithParam<const char*> {};

TEST_P(SavedReport, SaysWhatItSaidWhenItWasMade) {
  const std::string name = GetParam();
  const auto file = parse_report(name, golden(name + ".json"), saved_schemas());
  ASSERT_TRUE(file) << file.error().what;
  const auto page = saved_page(*file);
  ASSERT_TRUE(page) << page.error().what;
  EXPECT_EQ(as_text(page->document, {.columns = 120, .full = true}), golden(name + ".120.txt"));
  EXPECT_EQ(as_markdown(page->document), golden(name + ".md"));
}

INSTANTIATE_TEST_SUITE_P(OfEachCommand, SavedReport,
                         testing::Values("profile", "profile_layers", "profile_training", "run",
                                         "sweep", "compare", "blas", "doctor", "peak"));

TEST(SavedReports, OfAProfileKeepItsSamples) {
  const Profile profile = sampled_profile();
  const auto file = parse_report("x.json", profile_json(profile), saved_schemas());
  ASSERT_TRUE(file) << file.error().what;
  const auto page = saved_page(*file);
  ASSERT_TRUE(page) << page.error().what;
  EXPECT_EQ(as_markdown(page->document), as_markdown(profile_document(profile)));
}

TEST(SavedReports, OfASchemaAloneAreAPageOfLittle) {
  for (const std::string_view schema : saved_schemas()) {
    const auto file =
        parse_report("x.json", "{\"schema\": \"" + std::string(schema) + "\"}", saved_schemas());
    ASSERT_TRUE(file);
    const auto page = saved_page(*file);
    ASSERT_TRUE(page) << schema;
    EXPECT_THAT(as_html({&*page, 1}), HasSubstr("data-schema=\"" + std::string(schema) + "\""));
  }
}

TEST(SavedReports, WithoutWhatTheirValuesComeWithAreRefused) {
  for (const char* text : {
           R"({"schema": "hwprof.profile/1", "clock_ns": 30})",
           R"({"schema": "hwprof.profile/1", "peak": {"f32_gflops": 1}})",
           R"({"schema": "hwprof.profile/1", "scaling": {"rows": [{"points": [{}]}]}})",
           R"({"schema": "hwprof.profile/1", "training": {"runs": [{"samples_per_s": 1}]}})",
           R"({"schema": "hwprof.run/1", "blas": {"program_factor": 2}})",
           R"({"schema": "hwprof.run/1", "regions": {"rows": [{"counters": {"a": {}}}, {}]}})",
           R"({"schema": "hwprof.sweep/1", "swept": [{"name": "n"}], "points": [{}]})",
           R"({"schema": "hwprof.sweep/1", "laws": [{"quantity": "time", "exponent": 1}]})",
           R"({"schema": "hwprof.compare/1", "files": [{"rows": [{"verdict": "slower"}]}]})",
       }) {
    const auto file = parse_report("x.json", text, saved_schemas());
    ASSERT_TRUE(file) << text;
    EXPECT_FALSE(saved_page(*file)) << text;
  }
}

TEST(SavedReports, WithNothingInPlaceOfARowAreRefused) {
  const auto file =
      parse_report("x.json", R"({"schema": "hwprof.profile/1", "rows": [null]})", saved_schemas());
  ASSERT_TRUE(file);
  EXPECT_FALSE(saved_page(*file));
}

TEST(SavedReports, OfAnotherTypeAreRefusedWithTheirPlace) {
  const auto file =
      parse_report("x.json", R"({"schema": "hwprof.run/1", "wall_s": "fast"})", saved_schemas());
  ASSERT_TRUE(file);
  const auto page = saved_page(*file);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().fault, Fault::kUsage);
  EXPECT_EQ(page.error().what, "x.json: wall_s: \"fast\" is no number");
}

}  // namespace
}  // namespace hwprof::report
