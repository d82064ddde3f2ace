// Events held against exact counts: the arithmetic, what is said with later counts, and the file
// that is kept. No PMU is needed: the hardware here is made up.
#include "src/measure/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "counters/events/resolve.h"
#include "src/commands/kept_calibration.h"
#include "src/exact/exact.h"

namespace hwprof {
namespace {

using model::Calibrated;
using model::CalibratedEvent;
using testing::HasSubstr;
using testing::IsEmpty;

// Notes of events that were calibrated that day.
std::vector<EventNote> notes_on(std::vector<CalibratedEvent> events) {
  model::Calibration calibration;
  calibration.calibrated_utc = "2026-11-26T21:00:00Z";
  calibration.events = std::move(events);
  return notes_of(calibration);
}

CalibratedEvent named(const char* name, std::vector<model::CalibratedCount> counts = {}) {
  CalibratedEvent event;
  event.name = name;
  event.counts = std::move(counts);
  return event;
}

// Work that does nothing but note how much of it there was, and counters that look there: a round
// is 8 FMA of 8 floats. Both add what stands around the work, and not the same.
struct MadeUp {
  double rounds = 0, fma_counts_as = 2;
  std::string missing;  // an event that is not there
  KnownWork work{.name = "FMA, 256-bit float",
                 .run = [this](std::uint64_t more) { rounds += static_cast<double>(more); },
                 .rounds = 100,
                 .tells_flops = true,
                 .tells_instructions = true};
  CalibrationCounters counters{
      .exact = [this](const std::function<void()>& run) -> Result<exact::Counts> {
        rounds = 0;
        run();
        exact::Counts counts;
        counts.instructions = static_cast<std::uint64_t>(10 * rounds) + 17;
        counts.flops[1][2] = static_cast<std::uint64_t>(8 * 16 * rounds);
        return counts;
      },
      .hardware =
          [this](const std::function<void()>& run) {
            rounds = 0;
            run();
            std::vector<EventCount> all;
            for (const std::string& name : calibrated_event_names()) {
              EventCount& count = all.emplace_back();
              count.name = name;
              count.reason = "no such event here";
              if (name == missing || name == "loads") continue;
              count.reason.clear();
              count.event = "native " + name;
              count.value = name == "instructions" ? 10 * rounds + 999
                            : name == "flops-dp"   ? 0
                                                   : 8 * 8 * fma_counts_as * rounds;
            }
            return all;
          }};

  std::vector<CalibratedEvent> calibrated() {
    auto events = calibrate(counters, {&work, 1});
    EXPECT_TRUE(events);
    return *std::move(events);
  }
};

TEST(Calibration, WhatStandsAroundTheWorkCancelsOut) {
  const auto events = MadeUp().calibrated();
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].verdict, Calibrated::kExact);
  EXPECT_EQ(events[0].native, "native flops");
  EXPECT_EQ(events[3].name, "instructions");
  EXPECT_EQ(events[3].verdict, Calibrated::kExact);
  EXPECT_EQ(events[3].counts.at(0).exact, 1000.0);
  EXPECT_EQ(events[3].counts.at(0).ratio, 1.0);
}

TEST(Calibration, AnEventThatCountsAnFmaOnceIsOffByHalf) {
  MadeUp made;
  made.fma_counts_as = 1;
  const auto events = made.calibrated();
  EXPECT_EQ(events[0].verdict, Calibrated::kOff);
  EXPECT_EQ(events[0].lowest, 0.5);
  EXPECT_EQ(events[0].highest, 0.5);
  const auto notes = notes_on(events);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].event, "flops");
  EXPECT_EQ(notes[0].text, "counts 0.5 of the exact FLOP here (calibrated 2026-11-26)");
  EXPECT_EQ(notes[1].event, "flops-sp");
}

TEST(Calibration, AnEventThatIsNotThereIsAbsentWithItsReason) {
  MadeUp made;
  made.missing = "flops-sp";
  const auto events = made.calibrated();
  EXPECT_EQ(events[1].verdict, Calibrated::kAbsent);
  EXPECT_EQ(events[1].reason, "no such event here");
  EXPECT_EQ(events[4].verdict, Calibrated::kAbsent);
  EXPECT_THAT(events[1].counts, IsEmpty());
  EXPECT_EQ(events[0].reason, "");
}

TEST(Calibration, WorkOfOnePrecisionSaysNothingOfTheOther) {
  const auto events = MadeUp().calibrated();
  EXPECT_EQ(events[1].verdict, Calibrated::kExact);
  EXPECT_EQ(events[2].verdict, Calibrated::kAbsent);
  EXPECT_THAT(events[2].reason, HasSubstr("no work"));
}

TEST(Calibration, WhereNothingCanBeCountedExactlyThereIsNone) {
  MadeUp made;
  made.counters.exact = [](const std::function<void()>&) -> Result<exact::Counts> {
    return environment_error(0, "x86-64 only");
  };
  const auto events = calibrate(made.counters, {&made.work, 1});
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().what, "x86-64 only");
}

Result<exact::Counts> count_exactly(const std::function<void()>& run) {
  TRY(const exact::Counted counted, exact::count(run));
  return counted.counts;
}

// A PMU that counts what src/exact counts, but an FMA as `flops_of_fma`.
CalibrationCounters made_of_exact_counts(double flops_of_fma) {
  return {.exact = count_exactly, .hardware = [=](const std::function<void()>& run) {
            const exact::Counts counts = count_exactly(run).value_or(exact::Counts());
            const auto fma = static_cast<double>(counts.lanes_of(exact::Operation::kFma));
            std::vector<EventCount> all;
            for (const std::string& name : calibrated_event_names()) {
              EventCount& count = all.emplace_back();
              count.name = name;
              if (name == "flops")
                count.value = static_cast<double>(counts.total_flops()) - fma * (2 - flops_of_fma);
              else if (name == "instructions")
                count.value = static_cast<double>(counts.instructions);
              else
                count.reason = "not made up";
            }
            return all;
          }};
}

TEST(Calibration, OfTheKnownWorkItself) {
  if (const auto there = exact::check_available(); !there) GTEST_SKIP() << there.error().what;
  std::vector<KnownWork> works = known_work();
  const bool has_fma = std::any_of(works.begin(), works.end(), [](const KnownWork& work) {
    return work.name == "FMA, 256-bit float";
  });
  for (KnownWork& work : works) work.rounds = 20;
  const auto right = calibrate(made_of_exact_counts(2), works);
  if (!right) GTEST_SKIP() << right.error().what;  // a thread that another test left
  EXPECT_EQ(right->at(0).verdict, Calibrated::kExact);
  EXPECT_GE(right->at(0).counts.size(), 8U);
  EXPECT_EQ(right->at(3).verdict, Calibrated::kExact);
  EXPECT_EQ(right->at(3).counts.size(), 4U);
  EXPECT_EQ(right->at(1).verdict, Calibrated::kAbsent);
  if (!has_fma) return;
  const auto halved = calibrate(made_of_exact_counts(1), works);
  ASSERT_TRUE(halved) << halved.error().what;
  EXPECT_EQ(halved->at(0).verdict, Calibrated::kOff);
  EXPECT_EQ(halved->at(0).lowest, 0.5);
  EXPECT_EQ(halved->at(0).highest, 1.0);
}

TEST(Calibration, LoadsAreTheBytesOverTheSizeOfOne) {
  exact::Counts counts;
  counts.bytes_loaded = 640;
  KnownWork loads;
  loads.load_bytes = 32;
  EXPECT_EQ(expected_count("loads", loads, counts), 20.0);
  EXPECT_EQ(expected_count("loads", {}, counts), std::nullopt);
  EXPECT_EQ(expected_count("instructions", {}, counts), std::nullopt);
}

TEST(Calibration, OperationsThatAreNoFlopsAreTold) {
  CalibratedEvent event = named("flops", {{"add", 100.0, 100.2, {}}, {"maximum", 0.0, 64.0, {}}});
  judge_calibration(event);
  EXPECT_EQ(event.verdict, Calibrated::kOff);
  EXPECT_EQ(event.lowest, 1.002);
  EXPECT_EQ(event.counts[1].ratio, std::nullopt);
  EXPECT_EQ(notes_on({event})[0].text,
            "counts, of the exact FLOP here, some where there are none in 'maximum' (calibrated "
            "2026-11-26)");
  event.counts[1].counted = 0;
  judge_calibration(event);
  EXPECT_EQ(event.verdict, Calibrated::kExact);
  EXPECT_THAT(notes_on({event}), IsEmpty());
}

TEST(Calibration, OnlySomeOfTheWorkIsNamed) {
  CalibratedEvent event = named("flops");
  for (const char* work : {"a", "b", "c", "d", "e"})
    event.counts.push_back({work, 100.0, work[0] == 'a' ? 100.0 : 160.0, {}});
  judge_calibration(event);
  EXPECT_EQ(notes_on({event})[0].text,
            "counts, of the exact FLOP here, 1.6 in 'b', 1.6 in 'c', 1.6 in 'd', and 1 more "
            "(calibrated 2026-11-26)");
}

TEST(CalibrationNotes, AreACaveatOfTheEventAndOfNoOther) {
  Machine machine;
  machine.id = {Vendor::kIntel, 6, 143};
  machine.pmu.devices = {{"cpu", 4, {}}};
  const auto before = resolve(machine, 0, "flops");
  set_event_notes({{"flops", "counts 0.5 of the exact FLOP here"}});
  const auto flops = resolve(machine, 0, "flops"), cycles = resolve(machine, 0, "cycles");
  Machine without;
  const auto absent = resolve(without, 0, "flops");
  set_event_notes({});
  ASSERT_TRUE(before && flops && cycles && absent);
  EXPECT_EQ(flops->caveat, before->caveat + "; counts 0.5 of the exact FLOP here");
  EXPECT_THAT(cycles->caveat, testing::Not(HasSubstr("0.5")));
  EXPECT_THAT(absent->caveat, testing::Not(HasSubstr("0.5")));
  EXPECT_EQ(resolve(machine, 0, "flops")->caveat, before->caveat);
}

class KeptCalibration : public testing::Test {
 protected:
  KeptCalibration() { std::filesystem::remove_all(base_); }
  ~KeptCalibration() override { std::filesystem::remove_all(base_); }
  [[nodiscard]] std::string folder() const { return base_ + "/cache/hwprof"; }
  void make_base() const { std::filesystem::create_directories(base_); }
  // Its path.
  [[nodiscard]] Result<std::string> keep() const {
    return keep_calibration(folder(), calibration_);
  }

  std::string base_ = testing::TempDir() + "hwprof_calibration_" + std::to_string(getpid());
  model::Calibration calibration_ = [] {
    model::Calibration calibration;
    calibration.version = "0.1";
    calibration.calibrated_utc = "2026-11-26T21:00:00Z";
    calibration.cpu_name = "A CPU";
    calibration.key = {"amd/26/2", "cpu", "0xb002116", "6.1.0/odd name"};
    calibration.events = {named("flops", {{"FMA, 256-bit float", 1600.0, 800.0, {}}})};
    judge_calibration(calibration.events[0]);
    return calibration;
  }();
};

TEST_F(KeptCalibration, IsReadBackForTheSameMachineOnly) {
  make_base();
  const auto path = keep();
  ASSERT_TRUE(path) << path.error().what;
  EXPECT_EQ(std::filesystem::path(*path).parent_path(), folder());
  struct stat status {};
  ASSERT_EQ(stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  const auto again = kept_calibration(folder(), calibration_.key);
  ASSERT_TRUE(again && *again) << again.error().what;
  EXPECT_EQ((*again)->key, calibration_.key);
  ASSERT_EQ((*again)->events.size(), 1U);
  EXPECT_EQ((*again)->events[0].verdict, Calibrated::kOff);
  EXPECT_EQ((*again)->events[0].counts[0].counted, 800.0);
  EXPECT_EQ(notes_of(**again).at(0).text,
            "counts 0.5 of the exact FLOP here (calibrated 2026-11-26)");
  for (auto member : {&model::CalibrationKey::microcode, &model::CalibrationKey::kernel,
                      &model::CalibrationKey::cpu_id, &model::CalibrationKey::pmu}) {
    model::CalibrationKey other = calibration_.key;
    other.*member += "1";
    const auto none = kept_calibration(folder(), other);
    EXPECT_TRUE(none && !*none);
  }
  // One file name for both: "/" and " " are no signs of one.
  model::CalibrationKey alike = calibration_.key;
  alike.kernel = "6.1.0-odd-name";
  EXPECT_FALSE(*kept_calibration(folder(), alike));
}

TEST_F(KeptCalibration, IsNotBelievedWhereItIsNoCalibration) {
  make_base();
  const auto path = keep();
  ASSERT_TRUE(path);
  for (const char* content : {"", "{", "[1]", R"({"schema":"hwprof.calibration/2"})",
                              R"({"schema":"hwprof.calibration/1","events":3})"}) {
    std::ofstream(*path) << content;
    EXPECT_FALSE(kept_calibration(folder(), calibration_.key)) << content;
  }
  std::filesystem::remove(*path);
  std::filesystem::create_symlink("/dev/zero", *path);
  EXPECT_FALSE(kept_calibration(folder(), calibration_.key)) << "a link";
  EXPECT_FALSE(keep()) << "a link";
}

TEST_F(KeptCalibration, IsNotKeptWhereOthersMayWrite) {
  make_base();
  ASSERT_TRUE(keep());
  chmod(folder().c_str(), 0777);
  EXPECT_THAT(keep().error().what, HasSubstr("others may write"));
  EXPECT_FALSE(kept_calibration(folder(), calibration_.key));
}

TEST_F(KeptCalibration, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make files of another user's";
  make_base();
  const auto path = keep();
  ASSERT_TRUE(path);
  ASSERT_EQ(chown(path->c_str(), 65534, 65534), 0);
  EXPECT_THAT(kept_calibration(folder(), calibration_.key).error().what,
              HasSubstr("belongs to user 65534"));
  EXPECT_FALSE(keep());
  ASSERT_EQ(chown(path->c_str(), 0, 0), 0);
  ASSERT_EQ(chown(folder().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(kept_calibration(folder(), calibration_.key));
  EXPECT_THAT(keep().error().what, HasSubstr("belongs to user 65534"));
  std::filesystem::remove_all(base_);
  make_base();
  ASSERT_EQ(chown(base_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(keep());
  EXPECT_FALSE(std::filesystem::exists(base_ + "/cache")) << "made in another user's folder";
}

TEST(CalibrationKey, IsOfTheCpuItsMicrocodeAndTheKernel) {
  Machine machine;
  machine.id = {Vendor::kAmd, 26, 2};
  machine.kernel = "6.18.0";
  machine.pmu.devices = {{"cpu_core", 4, {0}}, {"cpu_atom", 5, {1}}};
  const char* cpuinfo = "processor\t: 0\nmicrocode\t: 0xb002116\nflags\t\t: fpu\n";
  const model::CalibrationKey wanted{"amd/26/2", "cpu_atom", "0xb002116", "6.18.0"};
  EXPECT_EQ(calibration_key(machine, 1, cpuinfo), wanted);
  EXPECT_EQ(calibration_key(machine, 0, "").microcode, "");
}

TEST(CacheFolder, IsThatOfTheXdgSpecification) {
  EXPECT_EQ(*cache_folder("/x", "/home/a"), "/x/hwprof");
  EXPECT_EQ(*cache_folder(nullptr, "/home/a"), "/home/a/.cache/hwprof");
  EXPECT_EQ(*cache_folder("", "/home/a"), "/home/a/.cache/hwprof");
  EXPECT_EQ(*cache_folder("relative", "/home/a"), "/home/a/.cache/hwprof");
  EXPECT_FALSE(cache_folder(nullptr, nullptr));
}

}  // namespace
}  // namespace hwprof
