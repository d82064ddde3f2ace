// What every format says of a record, and how a page is set. The whole documents stand in
// tests/golden; here are the rules that hold for any record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>

#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/printable.h"
#include "src/report/render/render.h"
#include "src/report/render/write_report.h"
#include "tests/sample_profile.h"

namespace hwprof::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string plain(const Profile& profile, int columns = 100) {
  return as_text(profile_document(profile), {.columns = columns, .full = true});
}

std::string markdown(const Profile& profile) { return as_markdown(profile_document(profile)); }

std::string brief(const Profile& profile, int columns = 100) {
  return as_text(profile_document(profile), {.columns = columns});
}

// The report with every run of blanks (and line breaks) as one blank, for what may be wrapped.
std::string flowing(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) out += word + " ";
  return out;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

TEST(Text, FirstLineIsTheBlasWhenItIsNotOptimal) {
  const std::string first = flowing(plain(sample_profile()));
  EXPECT_THAT(
      first,
      StartsWith("BLAS SUBOPTIMAL: 1.9 times faster is possible: OPENBLAS_CORETYPE=Haswell holds"));
  EXPECT_THAT(first, HasSubstr("times faster. Fix: unset OPENBLAS_CORETYPE"));
}

TEST(Text, FirstLineWithoutAFactorSaysWhy) {
  Profile profile = sample_profile();
  profile.blas.verdict = VerdictKind::kInconclusive;
  profile.blas.factor.reset();
  profile.blas.fix.clear();
  profile.blas.why = "it was not compared (--no-ladder)";
  EXPECT_THAT(flowing(plain(profile)),
              StartsWith("Fastest forward pass: blas-shifted, 10.8 ms, 42.2 % of the FMA peak. The "
                         "BLAS is not judged: it was not compared (--no-ladder). "));
  profile.passes.clear();
  EXPECT_THAT(plain(profile), StartsWith("BLAS INCONCLUSIVE: it was not compared (--no-ladder)."));
}

TEST(Text, FirstLineWithoutABlasSaysWhatOneWouldDo) {
  Profile profile = sample_profile();
  profile.blas = {};
  profile.blas.verdict = VerdictKind::kMissing;
  profile.blas.why = "the loader finds none; a program has one only where it brings it along";
  profile.blas.fix = "sudo apt install libopenblas0-pthread";
  const std::string why = "NO BLAS: the loader finds none; a program has one only where it brings";
  EXPECT_THAT(flowing(plain(profile)), StartsWith(why + " it along. Fix: sudo apt install"));
  Row best = profile.rows[2];
  best.variant = "best-im2col";
  best.library = "OpenBLAS 0.3.21 Cooperlake";
  profile.rows.push_back(best);
  const std::string text = flowing(plain(profile));
  EXPECT_THAT(text, StartsWith(why + " it along. conv1d takes " + work_cell(best) +
                               " with OpenBLAS 0.3.21 Cooperlake, which hwprof brings along, and " +
                               work_cell(profile.rows[0]) + " by loops. Fix: sudo apt install"));
  // Nothing was measured to choose among: no ladder.
  EXPECT_THAT(text, Not(HasSubstr("the fastest that was measured")));
  EXPECT_THAT(text, HasSubstr("with the core type that it chooses itself; programs get no BLAS."));
}

// Two layers on one and on two threads; `low` is that of the speed-ups.
Scaling two_counts(double on_two_ns, double low) {
  Scaling scaling;
  scaling.counts.resize(2);
  scaling.counts[1].threads = 2;
  for (const char* op : {"conv1d", "fc"}) {
    ScalingRow& row = scaling.rows.emplace_back();
    row.op = op;
    row.variant = "simd";
    row.points.resize(2);
    row.points[0].time_ns = 5e6;
    row.points[0].speedup = 1;
    row.points[1].time_ns = on_two_ns / 2;
    row.points[1].speedup = 10e6 / on_two_ns;
    row.points[1].speedup_low = low;
  }
  return scaling;
}

TEST(Text, FirstLineHasTheFastestNumberOfThreads) {
  Profile profile = sample_profile();
  profile.blas.verdict = VerdictKind::kOptimal;
  profile.passes.assign(1, {});
  profile.passes[0].name = "simd";
  profile.passes[0].variants = {{"conv1d", "simd"}, {"fc", "simd"}};
  profile.passes[0].time_ns = 10e6;
  const auto first = [&](double on_two_ns, double low) {
    profile.scaling = two_counts(on_two_ns, low);
    return flowing(plain(profile));
  };
  EXPECT_THAT(
      first(5e6, 1.9),
      StartsWith("Fastest forward pass: simd, 5.00 ms on 2 threads, 2.0 times as fast as on "
                 "1. BLAS optimal"));
  EXPECT_THAT(
      first(9e6, 0.9),
      StartsWith("Fastest forward pass: simd, 9.00 ms on 2 threads; not told apart from 1. "));
  EXPECT_THAT(first(11e6, 0.8),
              StartsWith("Fastest forward pass: simd, 10.0 ms on 1 thread; more were no faster. "));
}

TEST(Text, FirstLineIsTheFastestPassWhenTheBlasIsOptimal) {
  Profile profile = sample_profile();
  profile.blas.verdict = VerdictKind::kOptimal;
  EXPECT_THAT(
      plain(profile),
      StartsWith("Fastest forward pass: blas-shifted, 10.8 ms, 42.2 % of the FMA peak. BLAS"));
}

TEST(Text, NoLineIsWiderThanAsked) {
  for (const int columns : {60, 80, 100, 132}) {
    for (const std::string& line : lines_of(plain(sample_profile(), columns))) {
      // A word that cannot be broken (a path) may stick out, alone after its label.
      const bool path = line.find("/usr/lib/") != line.npos && columns < 80;
      if (!path) {
        EXPECT_LE(display_width(line), columns) << line;
      }
    }
  }
}

TEST(Text, NoLineEndsInABlank) {
  for (const std::string& line : lines_of(plain(sample_profile(), 80))) {
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
}

TEST(Text, NumberOfBlocksDoesNotChangeWhatIsSaid) {
  const auto words = [](int columns) {
    std::istringstream in(plain(sample_profile(), columns));
    std::multiset<std::string> out;
    for (std::string word; in >> word;) out.insert(word);
    return out;
  };
  const auto wide = words(400);
  const auto narrow = words(80);
  for (const std::string& word : wide) EXPECT_GE(narrow.count(word), wide.count(word)) << word;
}

TEST(Text, EscapeCodesOnlyWithColour) {
  const Profile profile = sample_profile();
  EXPECT_THAT(plain(profile), Not(HasSubstr("\x1b")));
  const std::string coloured = as_text(profile_document(profile), {.colour = true, .full = true});
  EXPECT_THAT(coloured, StartsWith("\x1b[1;31mBLAS SUBOPTIMAL"));
  EXPECT_EQ(occurrences(coloured, "\x1b["), 2 * occurrences(coloured, "\x1b[0m"));
}

TEST(Text, ReasonOfAnAbsentNumberIsSaidOnce) {
  const std::string text = flowing(plain(sample_profile()));
  for (const char* reason :
       {"Zen has no generic event for the last-level cache", "sysctl kernel.perf_event_paranoid=2",
        "was never scheduled within", "its model has comparisons, but no FLOP",
        "the library has no sgemv_", "the budget of 2 s was used up"}) {
    EXPECT_EQ(occurrences(text, reason), 1u) << reason;
  }
}

TEST(Text, EventThatNoRowCountedHasAReasonButNoColumn) {
  const Table table = counters_table(sample_profile());
  for (const Column& column : table.columns) EXPECT_NE(column.title, "llc-miss");
  EXPECT_THAT(flowing(plain(sample_profile())),
              HasSubstr("llc-miss: unsupported; Zen has no generic"));
  EXPECT_THAT(flowing(plain(sample_profile())),
              HasSubstr("flops: denied; perf_event_paranoid is 3"));
}

TEST(Text, EventOfAnotherMeaningHasItsOwnName) {
  EXPECT_EQ(counters_table(sample_profile()).columns[3].title, "branch-misses-all");
  EXPECT_THAT(flowing(plain(sample_profile())),
              HasSubstr("branch-misses-all: what branch-misses means on this CPU"));
}

TEST(Text, CountThatCannotBeRightIsDoubted) {
  const std::string text = flowing(plain(sample_profile()));
  EXPECT_EQ(occurrences(text, "2.65 G ? (61.7 %)"), 1u);
  EXPECT_THAT(text, HasSubstr("instructions of conv1d reference: cannot be right (?): 11.2 instr"));
}

TEST(Text, WithoutAnyCountOnlyTheReasonsAreLeft) {
  Profile profile = sample_profile();
  for (Row& row : profile.rows) {
    for (EventCount& count : row.counters) {
      count.value.reset();
      count.status = CountStatus::kUnsupported;
      count.reason = "there is no PMU";
    }
  }
  EXPECT_TRUE(counters_table(profile).rows.empty());
  EXPECT_THAT(flowing(plain(profile)),
              HasSubstr("task-clock, instructions, branch-misses, llc-miss, "
                        "flops: unsupported; there is no PMU"));
}

TEST(Text, ASingleSliceHasNoInterval) {
  Profile profile = sample_profile();
  profile.rows.resize(1);
  profile.rows[0].time_ns->samples = 1;
  profile.rows[0].time_ns->ci95_low.reset();
  profile.rows[0].time_ns->ci95_high.reset();
  profile.rows[0].peak_fraction_low.reset();
  EXPECT_THAT(plain(profile), AllOf(HasSubstr("642 ms"), Not(HasSubstr("±"))));
}

TEST(Text, CountedFlopsStandBesideTheModelsOnlyWhereCounted) {
  Profile profile = sample_profile();
  EXPECT_THAT(plain(profile), Not(HasSubstr("model FLOP")));
  profile.rows[1].counted_to_model_flops = 1.0043;
  EXPECT_THAT(plain(profile), AllOf(HasSubstr("model FLOP"), HasSubstr("1.004")));
  EXPECT_THAT(flowing(plain(profile)), HasSubstr("counted/model FLOP of conv1d reference"));
}

TEST(Text, WithoutAPeakItsReasonIsSaid) {
  Profile profile = sample_profile();
  profile.peak.reset();
  profile.peak_reason = "interrupted before the peak was measured";
  for (Row& row : profile.rows) {
    row.peak_fraction.reset();
    row.roofline_fraction.reset();
    row.roofline_ns.reset();
  }
  EXPECT_THAT(flowing(plain(profile)),
              AllOf(HasSubstr("FMA peak not measured: interrupted before the peak was measured"),
                    HasSubstr("% of FMA peak, roofline: interrupted before"),
                    Not(HasSubstr("265 GFLOP/s"))));
}

TEST(Text, PartialIsMarkedAtBothEnds) {
  Profile profile = sample_profile();
  EXPECT_THAT(plain(profile), Not(HasSubstr("PARTIAL")));
  profile.partial = true;
  const auto lines = lines_of(plain(profile));
  EXPECT_THAT(lines[2], StartsWith("PARTIAL"));  // below the two lines of the headline
  EXPECT_THAT(lines.back(), StartsWith("PARTIAL"));
}

TEST(Text, EmptyRecordStillReads) {
  EXPECT_THAT(plain(Profile{}), StartsWith("BLAS INCONCLUSIVE: no evidence was found.\n"));
}

TEST(Text, NothingHostileReachesTheTerminal) {
  const std::string evil =
      "\x1b]0;owned\x07\xff\x7f\xc2\x9b"
      "2J\xe2\x80\xae\r\n";
  Profile profile = sample_profile();
  profile.blas.path = profile.blas.why = profile.blas.fix = profile.blas.ladder_note = evil;
  profile.blas.ladder[0].library = profile.blas.ladder[0].core = evil;
  profile.blas.environment["OPENBLAS_X"] = evil;
  profile.workload.documents = profile.workload.embedding = evil;
  profile.machine.cpu_name = profile.machine.pmu.reason = evil;
  profile.command.push_back(evil);
  profile.rows[0].variant = profile.rows[4].op = profile.rows[9].reason = evil;
  profile.rows[0].counters[0].event = profile.rows[0].counters[3].reason = evil;
  profile.complexity.text = evil;
  profile.complexity.findings = {evil};
  profile.passes[0].name = evil;
  profile.warnings[0].text = evil;
  for (const std::string& text :
       {plain(profile), markdown(profile), profile_csv(profile), profile_json(profile)}) {
    for (const std::string& line : lines_of(text)) EXPECT_EQ(line, printable(line));
    EXPECT_THAT(text, HasSubstr("owned"));
  }
}

TEST(Text, NumbersThatAreNotFiniteAreNotPrinted) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Profile profile = sample_profile();
  profile.rows[1].gflops = nan;
  profile.rows[1].time_ns->median = std::numeric_limits<double>::infinity();
  profile.rows[2].counters[0].value = nan;
  profile.peak->f32_gflops = nan;
  profile.complexity.rows[0].model_share = nan;
  const auto has_word = [](const std::string& text, const std::string& word) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) {
      const bool before = at > 0 && std::isalpha(static_cast<unsigned char>(text[at - 1]));
      const char next = at + word.size() < text.size() ? text[at + word.size()] : ' ';
      if (!before && !std::isalpha(static_cast<unsigned char>(next))) return true;
    }
    return false;
  };
  for (const std::string& text :
       {plain(profile), markdown(profile), profile_csv(profile), profile_json(profile)}) {
    for (const char* word : {"nan", "NaN", "inf", "Infinity"}) EXPECT_FALSE(has_word(text, word));
  }
}

std::size_t cells_in(const std::string& line) {
  std::size_t bars = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
  }
  return bars;
}

// Every line of a table has as many cells as its header, else GitHub drops or shifts them.
void expect_whole_tables(const std::string& text) {
  std::istringstream in(text);
  std::size_t expected = 0, tables = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != '|') {
      expected = 0;
      continue;
    }
    if (expected == 0) {
      expected = cells_in(line);
      ++tables;
    }
    EXPECT_EQ(cells_in(line), expected) << line;
  }
  EXPECT_EQ(tables, 6u);
}

TEST(Markdown, TablesAreWhole) { expect_whole_tables(markdown(sample_profile())); }

TEST(Markdown, BarsAndMarkupInNamesAreText) {
  Profile profile = sample_profile();
  profile.rows[0].variant = "a|b\\|`c` <script> [x](y)";
  const std::string text = markdown(profile);
  expect_whole_tables(text);
  EXPECT_THAT(text, HasSubstr("a\\|b\\\\\\|\\`c\\` \\<script\\> \\[x\\](y)"));
}

// Each word and number of a cell or a sentence, whatever the format does to it.
TEST(Markdown, SaysWhatTheFullTextSays) {
  const auto words = [](const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size())
        plain += text[++i];
      else
        plain += std::string_view("|*#-:/").find(text[i]) == std::string_view::npos ? text[i] : ' ';
    }
    std::istringstream in(plain);
    std::set<std::string> out;
    for (std::string word; in >> word;) out.insert(word);
    return out;
  };
  const auto set = words(markdown(sample_profile()));
  for (const std::string& word : words(plain(sample_profile(), 400)))
    EXPECT_TRUE(set.contains(word)) << word;
}

TEST(Brief, FitsOnAScreenAndSaysWhatIsLeftOut) {
  Profile profile = sample_profile();  // with counters and a ladder
  for (Row& row : profile.rows) row.repeated.reset();
  profile.partial = false;
  const std::vector<std::string> lines = lines_of(brief(profile));
  EXPECT_THAT(lines.front(), StartsWith("BLAS SUBOPTIMAL"));
  EXPECT_GE(lines.size(), 20u);
  EXPECT_LE(lines.size(), 55u);
  profile.blas.verdict = VerdictKind::kOptimal;
  for (Row& row : profile.rows) row.counters.clear();
  EXPECT_LE(lines_of(brief(profile)).size(), 40u);
  EXPECT_THAT(flowing(brief(sample_profile())), HasSubstr("--full shows more: "));
  EXPECT_THAT(plain(sample_profile()), Not(HasSubstr("--full shows")));
}

TEST(Brief, OfTheLadderItSaysTheFastestRungAndTheOneAsFoundWhereTheBlasIsNotOptimal) {
  Profile profile = sample_profile();
  const std::string text = flowing(brief(profile));
  EXPECT_THAT(text, HasSubstr("SkylakeX 237 GFLOP/s, 89.6 % of the FMA peak; Haswell (as found)"));
  EXPECT_THAT(text, Not(HasSubstr("Prescott")));
  for (report::LadderRung& rung : profile.blas.ladder) rung.gflops.reset();
  EXPECT_THAT(brief(profile), AllOf(Not(HasSubstr("SkylakeX")), Not(HasSubstr("Ladder:"))));
  profile = sample_profile();
  profile.blas.verdict = VerdictKind::kOptimal;
  EXPECT_THAT(brief(profile), Not(HasSubstr("SkylakeX")));
}

TEST(Brief, TheReasonOfAVerdictIsSaidOnce) {
  Profile profile = sample_profile();
  profile.blas.factor = 1.01;
  profile.blas.why = "it is held to narrow kernels";
  const std::string text = flowing(brief(profile));
  const auto first = text.find(profile.blas.why);
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(profile.blas.why, first + 1), std::string::npos);
}

TEST(Brief, CountersAreThoseOfTheFastestVariants) {
  Profile profile = sample_profile();
  EXPECT_THAT(brief(profile), HasSubstr("conv1d blas-shifted"));
  EXPECT_THAT(brief(profile), Not(HasSubstr("conv1d reference  ")));
}

TEST(Brief, CountersAreATableOrOneLineOnWhyTheyAreNot) {
  Profile profile = sample_profile();
  EXPECT_THAT(brief(profile), HasSubstr("Counters (a call)"));
  for (Row& row : profile.rows) {
    for (EventCount& count : row.counters) {
      if (count.source == "kernel") continue;
      count.value.reset();
      count.status = CountStatus::kUnsupported;
      count.reason = "there is no PMU; to count: buy one";
    }
  }
  EXPECT_THAT(brief(profile), AllOf(Not(HasSubstr("Counters (a call)")),
                                    HasSubstr("there is no PMU"), Not(HasSubstr("buy one"))));
}

TEST(Brief, ARowThatWasNotMeasuredSaysWhy) {
  EXPECT_THAT(brief(sample_profile()), HasSubstr("the library has no sgemv_"));
}

// However narrow the page, each block of a table begins with what names its rows.
TEST(Text, EveryBlockOfASplitTableRepeatsItsKey) {
  Table table{.title = "T", .columns = {{"key", true}, {"first"}, {"second"}, {"third"}}};
  table.rows = {{"", {"row one", "1", "2", "3"}}, {"", {"row two", "4", "5", "6"}}};
  Document document;
  document.add(table);
  const std::string text = as_text(document, {.columns = 16, .full = true});
  EXPECT_EQ(occurrences(text, "key"), 3u);
  EXPECT_EQ(occurrences(text, "row one"), 3u);
  EXPECT_EQ(occurrences(text, "row two"), 3u);
}

TEST(Text, ALineForOtherProgramsIsNeverBroken) {
  const std::string line = "verdict=optimal provider=openblas core=Zen gflops=61.3";
  Document document;
  document.add(Paragraph{line, Paragraph::Kind::kLine});
  EXPECT_EQ(as_text(document, {.columns = 20}), line + "\n");
}

class Columns : public ::testing::Test {
 protected:
  ~Columns() override { ::unsetenv("COLUMNS"); }
  static std::size_t widest(const char* columns) {
    if (columns != nullptr) ::setenv("COLUMNS", columns, 1);
    Document document;
    std::string words = "word";
    for (int i = 0; i < 200; ++i) words += " word";
    document.add(Paragraph{words});
    std::size_t most = 0;
    // A file has no terminal's width.
    for (const std::string& line : lines_of(rendered(document, {.file = "none"})))
      most = std::max(most, line.size());
    return most;
  }
};

TEST_F(Columns, AreObeyedWithoutATerminalAndWhereTheyAreSane) {
  EXPECT_EQ(widest("60"), 59u);
  EXPECT_EQ(widest("204"), 204u);
  for (const char* none : {"", "0", "-5", "12", "wide", "80x"})
    EXPECT_EQ(widest(none), 99u) << none;
  ::unsetenv("COLUMNS");
  EXPECT_EQ(widest(nullptr), 99u);
}

TEST(Text, FirstLineOfAProgramWeighsByTime) {
  report::Run run;
  RunBlas& blas = run.blas;
  blas.verdict = VerdictKind::kOptimal;
  blas.path = "/lib/libblas.so.3";
  CallSite& site = blas.evidence.called.calls.emplace_back();
  site.symbol = "sgemm_";
  site.library = blas.path;
  blas.findings = {"38 calls of sgemm_"};
  blas.evidence.executed.waiting = {{"__sched_yield", "/lib/libc.so.6", 1850, 0.37}};
  blas.time_shares = {{"BLAS", 0.001, 0.0004, 0.0023},
                      {"oneDNN", 0.31, 0.297, 0.323},
                      {"waiting threads", 0.37, 0.357, 0.384}};
  const auto first = [&] { return flowing(as_text(run_document(run), {.columns = 100})); };
  EXPECT_THAT(
      first(),
      StartsWith("BLAS took 0.10 % (0.040 to 0.23) of the CPU time (sgemm_, optimal); oneDNN "
                 "31 % (30 to 32); waiting threads 37 % (36 to 38). BLAS optimal. 38 calls "
                 "of sgemm_. Threads wait for others in 37 % (36 to 38) of the CPU time: "
                 "__sched_yield of libc.so.6 37.0 %. "));
  blas.time_shares.front().fraction = 0.5;
  EXPECT_THAT(first(), StartsWith("BLAS optimal. 38 calls of sgemm_. Threads wait"));
  blas.time_shares.clear();  // too few samples
  EXPECT_THAT(first(), Not(HasSubstr("Threads wait")));
}

TEST(Text, FirstLineOfAProgramWhoseThreadsWaitSaysSo) {
  report::Run run;
  run.blas.verdict = VerdictKind::kOptimal;
  run.blas.findings = {"38 calls of sgemm_"};
  ThreadUse& threads = run.threads.emplace();
  threads.arithmetic_share = 0.4;
  threads.other_share = 0.2;
  threads.spin_share = 0.37;
  threads.idle_worker_share = 0.03;
  threads.sentences = {{"37 % of the CPU time is spent spinning at libgomp's barriers",
                        "370 samples", "OMP_NUM_THREADS=1"}};
  const auto first = [&] { return flowing(as_text(run_document(run), {.columns = 100})); };
  EXPECT_THAT(first(),
              StartsWith("37 % of the CPU time is spent spinning at libgomp's barriers (370 "
                         "samples). "));
  EXPECT_THAT(first(), HasSubstr("Fix: OMP_NUM_THREADS=1"));
  EXPECT_THAT(first(), HasSubstr("arithmetic 40.0 %, other work 20.0 %, spinning 37.0 %, idle "
                                 "workers 3.00 %"));
  // Where little is waited for it comes after the work.
  threads.spin_share = 0.1;
  EXPECT_THAT(first(), StartsWith("BLAS optimal. 38 calls of sgemm_. 37 % of the CPU time"));
  threads.sentences.clear();
  EXPECT_THAT(first(), Not(HasSubstr("spent spinning")));
}

TEST(Text, WaitingIsToldByPoolsWhereLoopsWereSeenToWait) {
  report::Run run;
  run.blas.verdict = VerdictKind::kOptimal;
  run.blas.evidence.executed.waiting = {{"__sched_yield", "/lib/libc.so.6", 300, 0.3}};
  run.blas.time_shares = {{"waiting threads", 0.37, 0.357, 0.384}};
  ThreadUse& threads = run.threads.emplace();
  threads.spin_share = 0.37;
  threads.pools = {{"OpenBLAS", 2, 0.3, {}, {}, {}},
                   {"Python", 2, 0, {}, {}, {}},
                   {"libgomp", 2, 0.07, {}, {}, {}}};
  EXPECT_THAT(flowing(as_text(run_document(run), {.columns = 100})),
              HasSubstr("Threads wait for others in 37 % (36 to 38) of the CPU time: OpenBLAS "
                        "30.0 %, libgomp 7.00 %."));
}

}  // namespace
}  // namespace hwprof::report
