#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <sstream>

#include "src/report/documents/content.h"
#include "src/report/render/printable.h"
#include "src/report/render/writers.h"
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
  return profile_text(profile, {.colour = false, .columns = columns});
}

// The report with every run of blanks (and line breaks) as one blank, for what may be wrapped.
std::string flowing(const Profile& profile) {
  std::istringstream in(plain(profile));
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
  EXPECT_THAT(plain(sample_profile()), StartsWith("BLAS SUBOPTIMAL: 1.90 times faster is possible. "
                                                  "Fix: unset OPENBLAS_CORETYPE\n"));
}

TEST(Text, FirstLineWithoutAFactorSaysWhy) {
  Profile profile = sample_profile();
  profile.blas.verdict = "inconclusive";
  profile.blas.factor.reset();
  profile.blas.fix.clear();
  profile.blas.why = "no ladder was climbed (--no-ladder)";
  EXPECT_THAT(plain(profile),
              StartsWith("BLAS INCONCLUSIVE: no ladder was climbed (--no-ladder).\n"));
}

TEST(Text, FirstLineIsTheFastestPassWhenTheBlasIsOptimal) {
  Profile profile = sample_profile();
  profile.blas.verdict = "optimal";
  EXPECT_THAT(plain(profile),
              StartsWith("Fastest forward pass: blas-shifted, 10.8 ms. BLAS optimal"));
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
  const std::string coloured = profile_text(profile, {.colour = true, .columns = 100});
  EXPECT_THAT(coloured, StartsWith("\x1b[1;31mBLAS SUBOPTIMAL"));
  EXPECT_EQ(occurrences(coloured, "\x1b["), 2 * occurrences(coloured, "\x1b[0m"));
}

TEST(Text, NumbersOfTheRecordAreThere) {
  const std::string text = flowing(sample_profile());
  for (const char* part :
       {"took 9.81 s",
        "2 cores, 2 CPUs in 1 package, 15.5 GiB memory",
        "L3 32 MiB for 2 CPUs",
        "perf_event_paranoid 3",
        "CPU 0, 1 thread, 0 migrations",
        "265 GFLOP/s (float32, avx512, 1 thread); scalar 16.6, sse 49.1, avx2 132 GFLOP/s",
        "L1 502/391/434 in 24 KiB",
        "memory 31.5/22.9/24.0 in 256 MiB",
        "64 of 23149, 1 to 497 words, mean 123.9",
        "2 documents shorter",
        "1.00 times",
        "3.87 times",
        "k=2 d_e=300 d_c=128 n=124 batch=64, 1 thread",
        "blas-shifted 10.62 ±0.06 ms 10.5 ms 114 43.1 ±0.4 compute 95.3 2.4e-07",
        "blas-shifted 44.4 4.71 ms 87.7 1.21 G 0 13.2 MiB 606 M 191 47",
        "simd 201.5 ±2.2 µs 199 µs - - memory (L2) 1.63 0",
        "over 64 documents",
        "simd 11.8 ms 48.8 M (61.7 %) 201 40",
        "blas-shifted 10.8 ms conv1d: blas-shifted",
        "maxpool 1.01 M 0.166 2.85 1.86",
        "openblas 0.3.21, core type Haswell, 1 thread",
        "suboptimal, factor 1.90",
        "OPENBLAS_CORETYPE=Haswell, OPENBLAS_L2_SIZE=512",
        "SkylakeX 237 89.6 avx512",
        "Haswell (as found) 125 47.1 avx2"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Text, ReasonOfAnAbsentNumberIsSaidOnce) {
  const std::string text = flowing(sample_profile());
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
  EXPECT_THAT(flowing(sample_profile()), HasSubstr("llc-miss: unsupported; Zen has no generic"));
  EXPECT_THAT(flowing(sample_profile()), HasSubstr("flops: denied; perf_event_paranoid is 3"));
}

TEST(Text, EventOfAnotherMeaningHasItsOwnName) {
  EXPECT_EQ(counters_table(sample_profile()).columns[3].title, "branch-misses-all");
  EXPECT_THAT(flowing(sample_profile()),
              HasSubstr("branch-misses-all: what branch-misses means on this CPU"));
}

TEST(Text, CountThatCannotBeRightIsDoubted) {
  const std::string text = flowing(sample_profile());
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
  EXPECT_THAT(flowing(profile), HasSubstr("task-clock, instructions, branch-misses, llc-miss, "
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
  EXPECT_THAT(flowing(profile), HasSubstr("counted/model FLOP of conv1d reference"));
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
  EXPECT_THAT(flowing(profile),
              AllOf(HasSubstr("FMA peak not measured: interrupted before the peak was measured"),
                    HasSubstr("% of FMA peak, roofline: interrupted before"),
                    Not(HasSubstr("265 GFLOP/s"))));
}

TEST(Text, PartialIsMarkedAtBothEnds) {
  Profile profile = sample_profile();
  EXPECT_THAT(plain(profile), Not(HasSubstr("PARTIAL")));
  profile.partial = true;
  const auto lines = lines_of(plain(profile));
  EXPECT_THAT(lines[1], StartsWith("PARTIAL"));
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
       {plain(profile), profile_markdown(profile), profile_csv(profile), profile_json(profile)}) {
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
       {plain(profile), profile_markdown(profile), profile_csv(profile), profile_json(profile)}) {
    for (const char* word : {"nan", "NaN", "inf", "Infinity"}) EXPECT_FALSE(has_word(text, word));
  }
}

}  // namespace
}  // namespace hwprof::report
