// The table against itself, and every row that libpfm4 knows against libpfm4's encoding.
#include "counters/events/event_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tests/libpfm_tables.h"

namespace hwprof {
namespace {

// A row of each kind of core, by its vendor and its number there.
std::map<std::pair<Vendor, unsigned>, const CoreRow*> each_core() {
  std::map<std::pair<Vendor, unsigned>, const CoreRow*> rows;
  for (const CoreRow& row : core_rows()) rows.emplace(std::pair(row.vendor, row.core), &row);
  return rows;
}

std::vector<EventRow> event_rows() {
  std::vector<EventRow> all;
  for (const EventTable& part : {intel_table(), amd_table(), arm_table()})
    all.insert(all.end(), part.rows.begin(), part.rows.end());
  return all;
}

const CoreRow& core_called(std::string_view name) {
  for (const CoreRow& row : core_rows())
    if (row.name == name) return row;
  ADD_FAILURE() << "no core is called " << name;
  return core_rows().front();
}

std::string_view name_of(const CoreRow* core) { return core == nullptr ? "" : core->name; }

std::vector<std::string_view> table_names() {
  std::vector<std::string_view> names;
  for (const PortableEvent& event : portable_events())
    if (event.kind == PortableKind::kTable) names.push_back(event.name);
  return names;
}

TEST(EventTable, EveryCoreAnswersEveryNameExactlyOnce) {
  for (const auto& [core, row] : each_core())
    for (std::string_view name : table_names()) {
      int answers = 0;
      for (const EventRow& event : event_table(row->vendor).rows)
        answers += event.name == name && event.is_of(*row);
      EXPECT_EQ(answers, 1) << row->name << " " << name;
    }
}

TEST(EventTable, EveryRowIsOfAPortableNameAndExplainsItself) {
  for (const EventRow& row : event_rows()) {
    ASSERT_NE(find_portable(row.name), nullptr) << row.name;
    EXPECT_EQ(find_portable(row.name)->kind, PortableKind::kTable) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_NE(row.cores, 0u) << row.name;
    if (!row.countable()) {
      EXPECT_FALSE(row.caveat.empty()) << row.name << " needs a remedy";
    }
    EXPECT_NE(row.shown_as, row.name);
  }
}

TEST(EventTable, NoTwoModelsOverlapUnlessTheirPmusDiffer) {
  const auto rows = core_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const CoreRow &a = rows[i], &b = rows[j];
      if (a.vendor != b.vendor || a.family != b.family || a.pmu != b.pmu) continue;
      EXPECT_TRUE(a.last_model < b.first_model || b.last_model < a.first_model)
          << a.name << " and " << b.name;
    }
}

TEST(EventTable, HybridCoresAreToldApartByTheirPmu) {
  const CpuId raptor_lake{Vendor::kIntel, 6, 0xb7, 1};
  EXPECT_EQ(name_of(find_core(raptor_lake, "cpu_core")), "Intel Raptor Lake P-core");
  EXPECT_EQ(name_of(find_core(raptor_lake, "cpu_atom")), "Intel Gracemont (E-core)");
  EXPECT_EQ(name_of(find_core(raptor_lake, "")), "Intel Raptor Lake P-core");
  const CpuId lunar_lake{Vendor::kIntel, 6, 0xbd, 1};
  EXPECT_EQ(name_of(find_core(lunar_lake, "cpu_atom")), "Intel Skymont (E-core)");
  const CpuId arrow_lake_h{Vendor::kIntel, 6, 0xc5, 1};
  EXPECT_EQ(name_of(find_core(arrow_lake_h, "cpu_lowpower")), "Intel Crestmont (LP E-core)");
  EXPECT_EQ(name_of(find_core({Vendor::kAmd, 0x1a, 2, 1}, "cpu")), "AMD Zen 5");
  EXPECT_EQ(find_core({Vendor::kAmd, 0x1a, 0x50, 1}, "cpu"), nullptr) << "Zen 6 is not Zen 5";
  EXPECT_EQ(find_core({Vendor::kOther, 6, 0xb7, 1}, "cpu"), nullptr);
}

TEST(EventTable, AHybridHasItsKindsOfCoreTheBigOneFirst) {
  const auto kinds = core_kinds({Vendor::kIntel, 6, 0xc5, 1});
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(name_of(kinds[0]), "Intel Arrow Lake P-core");
  EXPECT_EQ(core_kinds({Vendor::kIntel, 6, 0x8f, 1}).size(), 1u);
  EXPECT_TRUE(core_kinds({Vendor::kIntel, 6, 0xffff, 1}).empty());
}

TEST(EventTable, ModelsThatTheKernelGivesToNoZenAreNotInTheTable) {
  EXPECT_EQ(find_core({Vendor::kAmd, 0x1a, 0x30, 1}, "cpu"), nullptr);
  EXPECT_EQ(find_core({Vendor::kAmd, 0x17, 0x80, 1}, "cpu"), nullptr);
  EXPECT_EQ(name_of(find_core({Vendor::kAmd, 0x1a, 0x44, 1}, "cpu")), "AMD Zen 5");
  EXPECT_EQ(name_of(find_core({Vendor::kAmd, 0x17, 0xa0, 1}, "cpu")), "AMD Zen 2");
}

TEST(EventTable, ACpuIsNamedAsItIsPrinted) {
  for (const CoreRow& row : core_rows()) {
    const CpuId id{row.vendor, row.family, row.last_model, 0};
    const auto parsed = parse_cpu_id(format_cpu_id(id));
    ASSERT_TRUE(parsed) << format_cpu_id(id);
    EXPECT_EQ(format_cpu_id(*parsed), format_cpu_id(id));
  }
  EXPECT_EQ(format_cpu_id(*parse_cpu_id("ARM/0x41/0xD0C")), "arm/65/3340");
  EXPECT_EQ(format_cpu_id(*parse_cpu_id("arm/0x61/0x22")), "apple/97/34");
}

TEST(EventTable, AnUnknownCpuGetsTheNearest) {
  using testing::HasSubstr;
  EXPECT_THAT(parse_cpu_id("intel/6/142000").error().what, HasSubstr("vendor/family/model"));
  for (const char* text : {"", "intel", "intel/6", "intel/6/143/1", "intel/x/1", "intel/6/-1"})
    EXPECT_FALSE(parse_cpu_id(text)) << text;
  EXPECT_THAT(parse_cpu_id("intel/6/144").error().hint, HasSubstr("intel/6/143 (Intel Sapphire"));
  EXPECT_THAT(parse_cpu_id("amd/99/1").error().hint, HasSubstr("AMD Zen 5"));
  EXPECT_THAT(parse_cpu_id("via/6/15").error().hint, HasSubstr("Apple M1"));
  EXPECT_EQ(parse_cpu_id("via/6/15").error().fault, Fault::kUsage);
}

// perf takes "r" and hexadecimal digits; "rff" would be a word to us (counters/events/resolve.cpp).
TEST(EventTable, EveryEncodingHasADecimalDigitSoThatItCanBeTypedRaw) {
  for (const EventRow& row : event_rows())
    for (std::size_t i = 0; i < row.term_count(); ++i) {
      char text[32];
      std::snprintf(text, sizeof text, "%04llx",
                    static_cast<unsigned long long>(row.terms[i].config));
      EXPECT_NE(std::string(text).find_first_of("0123456789"), std::string::npos) << text;
    }
}

TEST(EventTable, NoEncodingStandsTwiceInOneEvent) {
  for (const EventRow& row : event_rows()) {
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < row.term_count(); ++i)
      EXPECT_TRUE(seen.insert(row.terms[i].config).second) << row.name << " " << row.meaning;
  }
}

// What the facts that the table was made from say, for the two CPUs that were looked at most.
TEST(EventTable, TheEncodingsOfTheFactsStandInTheTable) {
  const EventRow* zen5 = find_row(core_called("AMD Zen 5"), "flops");
  EXPECT_EQ(zen5->terms[0].config, 0x0f03u);
  EXPECT_FALSE(find_row(core_called("AMD Zen 5"), "llc-miss")->countable());
  EXPECT_EQ(find_row(core_called("Intel Sapphire Rapids"), "llc-miss")->terms[0].config, 0x412eu);
  EXPECT_EQ(find_row(core_called("Intel Lunar Lake P-core"), "flops")->terms[0].native,
            "FP_ARITH_OPS_RETIRED:SCALAR");
}

TEST(EventTable, FlopWeightsAreTheLanesOfTheWidth) {
  const EventRow* row = find_row(core_called("Intel Sapphire Rapids"), "flops");
  ASSERT_NE(row, nullptr);
  ASSERT_EQ(row->term_count(), 5u);
  EXPECT_EQ(row->terms[4].config, 0x80c7u);
  EXPECT_EQ(row->terms[4].weight, 16);
  EXPECT_EQ(find_row(core_called("AMD Zen 4"), "flops")->terms[0].config, 0x1f03u);
  EXPECT_EQ(find_row(core_called("AMD Zen 4"), "flops")->terms[0].weight, 1);
  EXPECT_FALSE(find_row(core_called("Intel Haswell"), "flops")->countable());
  EXPECT_FALSE(find_row(core_called("Intel Gracemont (E-core)"), "flops")->countable());
}

// Each umask bit of FP_ARITH_INST_RETIRED once and with one weight: else FLOPs count double.
TEST(EventTable, IntelFlopTermsShareNoBit) {
  for (const EventRow& row : intel_table().rows) {
    if (row.name.substr(0, 5) != "flops") continue;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < row.term_count(); ++i) {
      const std::uint64_t umask = row.terms[i].config >> 8;
      EXPECT_EQ(seen & umask, 0u) << row.name;
      seen |= umask;
    }
  }
}

TEST(EventTable, SingleAndDoubleTogetherAreAllFlops) {
  for (const auto& [core, cpu] : each_core()) {
    const EventRow *all = find_row(*cpu, "flops"), *sp = find_row(*cpu, "flops-sp"),
                   *dp = find_row(*cpu, "flops-dp");
    if (cpu->vendor != Vendor::kIntel || !all->countable()) continue;
    std::map<std::uint64_t, double> by_bit;
    const auto add = [&](const EventRow& row, double sign) {
      for (std::size_t i = 0; i < row.term_count(); ++i)
        for (std::uint64_t bit = 1; bit < 0x100; bit <<= 1)
          if ((row.terms[i].config >> 8) & bit) by_bit[bit] += sign * row.terms[i].weight;
    };
    add(*all, 1);
    add(*sp, -1);
    add(*dp, -1);
    for (const auto& [bit, weight] : by_bit) EXPECT_EQ(weight, 0) << cpu->name << " umask " << bit;
  }
}

TEST(EventTable, PortableNamesAreUniqueAndFoundInAnyCase) {
  std::set<std::string_view> names;
  for (const PortableEvent& event : portable_events())
    EXPECT_TRUE(names.insert(event.name).second) << event.name;
  EXPECT_EQ(find_portable("LLC-Miss"), find_portable("llc-miss"));
  EXPECT_EQ(find_portable("nosuch"), nullptr);
}

// No combined unit mask for the first two; the Cortex-A57 without the plain cache accesses that
// the architecture requires. Their sources are named in the rows.
bool libpfm_lacks(const CoreRow& cpu, std::string_view native) {
  return native == "REQUESTS_TO_L2_GROUP1:ALL" || native == "CYCLES_NO_RETIRE:ALL" ||
         (cpu.name == "Arm Cortex-A57" && (native == "L2D_CACHE" || native == "L1D_CACHE"));
}

bool libpfm_has(std::string_view pmu_name) {
  for (int pmu = 0; pmu < PFM_PMU_MAX; ++pmu) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(pmu), &info) == PFM_SUCCESS &&
        info.name == pmu_name)
      return true;
  }
  return false;
}

int encode(const std::string& name, std::uint64_t& config) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t arg{};
  arg.attr = &attr;
  arg.size = sizeof arg;
  const int code = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
  config = attr.config;
  return code;
}

void expect_the_encodings_of_libpfm() {
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  int compared = 0;
  for (const auto& [core, cpu] : each_core()) {
    // libpfm4 is built for one architecture: arm64 rows are compared on arm64.
    if (cpu->libpfm.empty() || !libpfm_has(cpu->libpfm)) continue;
    for (const EventRow& row : event_table(cpu->vendor).rows) {
      if (!row.is_of(*cpu)) continue;
      for (std::size_t i = 0; i < row.term_count(); ++i) {
        const NativeTerm& term = row.terms[i];
        if (libpfm_lacks(*cpu, term.native)) continue;
        const std::string name = std::string(cpu->libpfm) + "::" + std::string(term.native);
        std::uint64_t config = 0;
        const int code = encode(name, config);
        EXPECT_EQ(code, PFM_SUCCESS) << name << ": " << pfm_strerror(code);
        if (code == PFM_SUCCESS) {
          EXPECT_EQ(config, term.config) << name;
        }
        ++compared;
      }
    }
  }
#if defined(__x86_64__)
  EXPECT_GT(compared, 100) << "libpfm4 knew next to nothing";
#endif
}

TEST(EventTable, IsEncodedByLibpfmAsItSaysItselfOnEveryCpuThatBothKnow) {
  EXPECT_WITH_TABLES(kAllTables, expect_the_encodings_of_libpfm);
}

TEST(EventTable, TheKernelsChoiceForZenIsTheSumOfItsUnitMasks) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "libpfm4 of another architecture";
#endif
  EXPECT_WITH_TABLES(kAllTables, [] {
    ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
    std::uint64_t config = 0;
    ASSERT_EQ(encode("amd64_fam17h_zen1::REQUESTS_TO_L2_GROUP1:RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:"
                     "CACHEABLE_IC_READ:CHANGE_TO_X:PREFETCH_L2:L2_HW_PF:OTHER_REQUESTS",
                     config),
              PFM_SUCCESS);
    EXPECT_EQ(config, find_row(core_called("AMD Zen"), "cache-references")->terms[0].config);
  });
}

}  // namespace
}  // namespace hwprof
