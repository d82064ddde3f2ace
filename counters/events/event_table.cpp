#include "counters/events/event_table.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "src/base/text.h"

namespace hwprof {
namespace {

// Intel: arch/x86/include/asm/intel-family.h. AMD: bsp_init_amd() in arch/x86/kernel/cpu/amd.c.
// Arm and Apple: arch/arm64/include/asm/cputype.h. Widths: Intel and Arm optimisation manuals,
// AMD software optimisation guides; E-cores and Apple as commonly published.
constexpr CoreRow kCores[] = {
    {Core::kHaswell, "Intel Haswell", Vendor::kIntel, 6, 0x3c, 0x3c, "", "hsw", 4},
    {Core::kHaswell, "Intel Haswell", Vendor::kIntel, 6, 0x3f, 0x3f, "", "hsw", 4},
    {Core::kHaswell, "Intel Haswell", Vendor::kIntel, 6, 0x45, 0x46, "", "hsw", 4},
    {Core::kBroadwell, "Intel Broadwell", Vendor::kIntel, 6, 0x3d, 0x3d, "", "bdw", 4},
    {Core::kBroadwell, "Intel Broadwell", Vendor::kIntel, 6, 0x47, 0x47, "", "bdw", 4},
    {Core::kBroadwell, "Intel Broadwell", Vendor::kIntel, 6, 0x4f, 0x4f, "", "bdw", 4},
    {Core::kBroadwell, "Intel Broadwell", Vendor::kIntel, 6, 0x56, 0x56, "", "bdw", 4},
    {Core::kSkylake, "Intel Skylake", Vendor::kIntel, 6, 0x4e, 0x4e, "", "skl", 4},
    {Core::kSkylake, "Intel Skylake", Vendor::kIntel, 6, 0x5e, 0x5e, "", "skl", 4},
    {Core::kSkylake, "Intel Kaby/Coffee Lake", Vendor::kIntel, 6, 0x8e, 0x8e, "", "skl", 4},
    {Core::kSkylake, "Intel Kaby/Coffee Lake", Vendor::kIntel, 6, 0x9e, 0x9e, "", "skl", 4},
    {Core::kSkylake, "Intel Comet Lake", Vendor::kIntel, 6, 0xa5, 0xa6, "", "skl", 4},
    {Core::kSkylakeX, "Intel Skylake-SP/Cascade Lake", Vendor::kIntel, 6, 0x55, 0x55, "", "skx", 4},
    {Core::kIceLake, "Intel Ice Lake", Vendor::kIntel, 6, 0x7d, 0x7e, "", "icl", 5},
    {Core::kIceLake, "Intel Tiger Lake", Vendor::kIntel, 6, 0x8c, 0x8d, "", "icl", 5},
    {Core::kIceLake, "Intel Rocket Lake", Vendor::kIntel, 6, 0xa7, 0xa7, "", "icl", 5},
    {Core::kIceLakeX, "Intel Ice Lake-SP", Vendor::kIntel, 6, 0x6a, 0x6a, "", "icx", 5},
    {Core::kIceLakeX, "Intel Ice Lake-D", Vendor::kIntel, 6, 0x6c, 0x6c, "", "icx", 5},
    {Core::kSapphireRapids, "Intel Sapphire Rapids", Vendor::kIntel, 6, 0x8f, 0x8f, "", "spr", 6},
    {Core::kSapphireRapids, "Intel Emerald Rapids", Vendor::kIntel, 6, 0xcf, 0xcf, "", "spr", 6},
    {Core::kGraniteRapids, "Intel Granite Rapids", Vendor::kIntel, 6, 0xad, 0xae, "", "", 6},
    {Core::kGracemont, "Intel Gracemont (E-core)", Vendor::kIntel, 6, 0x97, 0x97, "cpu_atom", "",
     5},
    {Core::kGracemont, "Intel Gracemont (E-core)", Vendor::kIntel, 6, 0x9a, 0x9a, "cpu_atom", "",
     5},
    {Core::kGracemont, "Intel Gracemont (E-core)", Vendor::kIntel, 6, 0xb7, 0xb7, "cpu_atom", "",
     5},
    {Core::kGracemont, "Intel Gracemont (E-core)", Vendor::kIntel, 6, 0xba, 0xba, "cpu_atom", "",
     5},
    {Core::kGracemont, "Intel Gracemont (E-core)", Vendor::kIntel, 6, 0xbf, 0xbf, "cpu_atom", "",
     5},
    {Core::kGracemont, "Intel Alder Lake-N (Gracemont)", Vendor::kIntel, 6, 0xbe, 0xbe, "", "", 5},
    {Core::kGoldenCove, "Intel Alder Lake P-core", Vendor::kIntel, 6, 0x97, 0x97, "", "", 6},
    {Core::kGoldenCove, "Intel Alder Lake P-core", Vendor::kIntel, 6, 0x9a, 0x9a, "", "", 6},
    {Core::kGoldenCove, "Intel Raptor Lake P-core", Vendor::kIntel, 6, 0xb7, 0xb7, "", "", 6},
    {Core::kGoldenCove, "Intel Raptor Lake P-core", Vendor::kIntel, 6, 0xba, 0xba, "", "", 6},
    {Core::kGoldenCove, "Intel Raptor Lake P-core", Vendor::kIntel, 6, 0xbf, 0xbf, "", "", 6},
    {Core::kCrestmont, "Intel Crestmont (E-core)", Vendor::kIntel, 6, 0xaa, 0xaa, "cpu_atom", "",
     6},
    {Core::kCrestmont, "Intel Crestmont (E-core)", Vendor::kIntel, 6, 0xac, 0xac, "cpu_atom", "",
     6},
    {Core::kCrestmont, "Intel Crestmont (E-core)", Vendor::kIntel, 6, 0xb5, 0xb5, "cpu_atom", "",
     6},
    {Core::kCrestmont, "Intel Crestmont (LP E-core)", Vendor::kIntel, 6, 0xc5, 0xc5, "cpu_lowpower",
     "", 6},
    {Core::kCrestmont, "Intel Sierra Forest (Crestmont)", Vendor::kIntel, 6, 0xaf, 0xaf, "", "", 6},
    {Core::kRedwoodCove, "Intel Meteor Lake P-core", Vendor::kIntel, 6, 0xaa, 0xaa, "", "", 6},
    {Core::kRedwoodCove, "Intel Meteor Lake P-core", Vendor::kIntel, 6, 0xac, 0xac, "", "", 6},
    {Core::kRedwoodCove, "Intel Arrow Lake-U P-core", Vendor::kIntel, 6, 0xb5, 0xb5, "", "", 6},
    {Core::kSkymont, "Intel Skymont (E-core)", Vendor::kIntel, 6, 0xbd, 0xbd, "cpu_atom", "", 8},
    {Core::kSkymont, "Intel Skymont (E-core)", Vendor::kIntel, 6, 0xc5, 0xc6, "cpu_atom", "", 8},
    {Core::kLionCove, "Intel Lunar Lake P-core", Vendor::kIntel, 6, 0xbd, 0xbd, "", "", 8},
    {Core::kLionCove, "Intel Arrow Lake P-core", Vendor::kIntel, 6, 0xc5, 0xc6, "", "", 8},

    {Core::kZen1, "AMD Zen", Vendor::kAmd, 0x17, 0x00, 0x2f, "", "amd64_fam17h_zen1", 6},
    {Core::kZen1, "AMD Zen", Vendor::kAmd, 0x17, 0x50, 0x5f, "", "amd64_fam17h_zen1", 6},
    {Core::kZen2, "AMD Zen 2", Vendor::kAmd, 0x17, 0x30, 0x4f, "", "amd64_fam17h_zen2", 6},
    {Core::kZen2, "AMD Zen 2", Vendor::kAmd, 0x17, 0x60, 0x7f, "", "amd64_fam17h_zen2", 6},
    {Core::kZen2, "AMD Zen 2", Vendor::kAmd, 0x17, 0x90, 0x91, "", "amd64_fam17h_zen2", 6},
    {Core::kZen2, "AMD Zen 2", Vendor::kAmd, 0x17, 0xa0, 0xaf, "", "amd64_fam17h_zen2", 6},
    {Core::kZen3, "AMD Zen 3", Vendor::kAmd, 0x19, 0x00, 0x0f, "", "amd64_fam19h_zen3", 6},
    {Core::kZen3, "AMD Zen 3", Vendor::kAmd, 0x19, 0x20, 0x5f, "", "amd64_fam19h_zen3", 6},
    {Core::kZen4, "AMD Zen 4", Vendor::kAmd, 0x19, 0x10, 0x1f, "", "amd64_fam19h_zen4", 6},
    {Core::kZen4, "AMD Zen 4", Vendor::kAmd, 0x19, 0x60, 0xaf, "", "amd64_fam19h_zen4", 6},
    {Core::kZen5, "AMD Zen 5", Vendor::kAmd, 0x1a, 0x00, 0x2f, "", "", 8},
    {Core::kZen5, "AMD Zen 5", Vendor::kAmd, 0x1a, 0x40, 0x4f, "", "", 8},
    {Core::kZen5, "AMD Zen 5", Vendor::kAmd, 0x1a, 0x60, 0x7f, "", "", 8},

    {Core::kCortexA57, "Arm Cortex-A57", Vendor::kArm, 0x41, 0xd07, 0xd07, "", "arm_ac57", 3},
    {Core::kCortexA72, "Arm Cortex-A72", Vendor::kArm, 0x41, 0xd08, 0xd08, "", "", 3},
    {Core::kCortexA76, "Arm Cortex-A76", Vendor::kArm, 0x41, 0xd0b, 0xd0b, "", "", 8},
    {Core::kNeoverseN1, "Arm Neoverse N1", Vendor::kArm, 0x41, 0xd0c, 0xd0c, "", "arm_n1", 8},
    {Core::kNeoverseV1, "Arm Neoverse V1", Vendor::kArm, 0x41, 0xd40, 0xd40, "", "arm_v1", 16},
    {Core::kNeoverseN2, "Arm Neoverse N2", Vendor::kArm, 0x41, 0xd49, 0xd49, "", "arm_n2", 10},
    {Core::kNeoverseV2, "Arm Neoverse V2", Vendor::kArm, 0x41, 0xd4f, 0xd4f, "", "arm_v2", 16},
    {Core::kAppleM1, "Apple M1", Vendor::kApple, 0x61, 0x022, 0x025, "", "", 8},
    {Core::kAppleM1, "Apple M1", Vendor::kApple, 0x61, 0x028, 0x029, "", "", 8},
};

constexpr std::uint64_t cache_event(std::uint64_t cache, std::uint64_t operation,
                                    std::uint64_t result) {
  return cache | operation << 8 | result << 16;
}

constexpr std::string_view kPerCpuMeaning = "see the CPU's row";

constexpr PortableEvent kPortable[] = {
    {"cycles", PortableKind::kHardware, PERF_COUNT_HW_CPU_CYCLES, "1", true, false,
     "core clock cycles while the core is not halted",
     "follows the clock: turbo and throttling "
     "change how long one is"},
    {"instructions", PortableKind::kHardware, PERF_COUNT_HW_INSTRUCTIONS, "1", true, false,
     "retired instructions", ""},
    {"ref-cycles", PortableKind::kHardware, PERF_COUNT_HW_REF_CPU_CYCLES, "1", true, false,
     "cycles at a constant reference clock while the core is not halted", ""},
    {"branches", PortableKind::kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "1", true, false,
     "retired branches", ""},
    {"branch-misses", PortableKind::kHardware, PERF_COUNT_HW_BRANCH_MISSES, "1", true, false,
     "retired branches that were mispredicted", ""},
    {"flops", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"flops-sp", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"flops-dp", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"l1d-miss", PortableKind::kCache,
     cache_event(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ,
                 PERF_COUNT_HW_CACHE_RESULT_MISS),
     "1", true, false, "level 1 data cache misses, as the kernel defines them for this CPU",
     "lines brought in on Intel and Arm, prefetched ones included; missing loads on AMD"},
    {"l2-miss", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"llc-ref", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"llc-miss", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"dtlb-miss", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"stalls", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"dram-fills", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"cache-references", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"cache-misses", PortableKind::kTable, 0, "1", true, false, kPerCpuMeaning, ""},
    {"task-clock", PortableKind::kSoftware, PERF_COUNT_SW_TASK_CLOCK, "ns", true, false,
     "time on a CPU, summed over threads", ""},
    {"context-switches", PortableKind::kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, "1", false, true,
     "times that a thread left its CPU", ""},
    {"migrations", PortableKind::kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS, "1", false, true,
     "times that a thread moved to another CPU", ""},
    {"page-faults", PortableKind::kSoftware, PERF_COUNT_SW_PAGE_FAULTS, "1", true, false,
     "page faults, minor and major", ""},
    {"minor-faults", PortableKind::kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN, "1", true, false,
     "page faults served without reading a disk", ""},
    {"major-faults", PortableKind::kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "1", false, false,
     "page faults that read a disk", ""},
};

constexpr std::pair<Vendor, std::string_view> kVendors[] = {{Vendor::kIntel, "intel"},
                                                            {Vendor::kAmd, "amd"},
                                                            {Vendor::kArm, "arm"},
                                                            {Vendor::kApple, "apple"}};
constexpr unsigned kAppleImplementer = 0x61;

std::string_view vendor_name(Vendor vendor) {
  for (const auto& [known, name] : kVendors)
    if (known == vendor) return name;
  return "other";
}

bool is_model(const CoreRow& row, const CpuId& id) {
  return row.vendor == id.vendor && row.family == id.family && row.first_model <= id.model &&
         id.model <= row.last_model;
}

std::string id_and_name(const CoreRow& row, unsigned model) {
  return fmt::format("{} ({})", format_cpu_id({row.vendor, row.family, model, 0}), row.name);
}

// The closest model of the same family; else what the table has of the vendor; else of all.
std::string known_near(const CpuId& id) {
  const CoreRow* near = nullptr;
  unsigned best = 0, near_model = 0;
  std::vector<std::string> of_vendor, all;
  for (const CoreRow& row : kCores) {
    const std::string text = id_and_name(row, row.first_model);
    all.push_back(text);
    if (row.vendor != id.vendor) continue;
    of_vendor.push_back(text);
    if (row.family != id.family) continue;
    const unsigned model = std::clamp(id.model, row.first_model, row.last_model);
    const unsigned distance = model > id.model ? model - id.model : id.model - model;
    if (near != nullptr && distance >= best) continue;
    near = &row;
    best = distance;
    near_model = model;
  }
  if (near != nullptr)
    return fmt::format("the nearest model is {}", id_and_name(*near, near_model));
  return fmt::format("the table has {}", join(of_vendor.empty() ? all : of_vendor));
}

}  // namespace

std::size_t EventRow::term_count() const {
  return static_cast<std::size_t>(std::count_if(
      terms.begin(), terms.end(), [](const NativeTerm& term) { return term.weight != 0; }));
}

std::span<const CoreRow> core_rows() { return kCores; }

std::span<const EventRow> event_rows() {
  static const std::vector<EventRow> rows = [] {
    std::vector<EventRow> all;
    for (const auto part : {intel_rows(), amd_rows(), arm_rows()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

std::span<const PortableEvent> portable_events() { return kPortable; }

std::vector<std::string_view> portable_names() {
  std::vector<std::string_view> names;
  for (const PortableEvent& event : kPortable) names.push_back(event.name);
  return names;
}

const CoreRow* find_core(const CpuId& id, std::string_view pmu) {
  for (const CoreRow& row : kCores)
    if (is_model(row, id) && !row.pmu.empty() && row.pmu == pmu) return &row;
  for (const CoreRow& row : kCores)
    if (is_model(row, id) && row.pmu.empty()) return &row;
  return nullptr;
}

std::vector<const CoreRow*> core_kinds(const CpuId& id) {
  std::vector<const CoreRow*> kinds;
  for (const CoreRow& row : kCores)
    if (is_model(row, id)) kinds.push_back(&row);
  std::stable_partition(kinds.begin(), kinds.end(),
                        [](const CoreRow* row) { return row->pmu.empty(); });
  return kinds;
}

const EventRow* find_row(Core core, std::string_view name) {
  for (const EventRow& row : event_rows())
    if (row.name == name && (row.cores & cores(core)) != 0) return &row;
  return nullptr;
}

const PortableEvent* find_portable(std::string_view name) {
  const std::string wanted = lower(name);
  const auto found = std::find_if(std::begin(kPortable), std::end(kPortable),
                                  [&](const PortableEvent& event) { return event.name == wanted; });
  return found == std::end(kPortable) ? nullptr : &*found;
}

std::string format_cpu_id(const CpuId& id) {
  return fmt::format("{}/{}/{}", vendor_name(id.vendor), id.family, id.model);
}

Result<CpuId> parse_cpu_id(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  const auto family = parts.size() == 3 ? parse_unsigned(parts[1]) : std::nullopt;
  const auto model = parts.size() == 3 ? parse_unsigned(parts[2]) : std::nullopt;
  constexpr std::uint64_t kLargest = 0xffff;
  if (!family || !model || *family > kLargest || *model > kLargest)
    return usage_error(fmt::format("CPU '{}' is not of the form vendor/family/model", text),
                       "as in intel/6/143, amd/26/2 or arm/0x41/0xd0c (implementer and part)");
  const std::string vendor = lower(parts[0]);
  CpuId id;
  for (const auto& [known, name] : kVendors)
    if (name == vendor) id.vendor = known;
  id.family = static_cast<unsigned>(*family);
  id.model = static_cast<unsigned>(*model);
  if (id.vendor == Vendor::kArm && id.family == kAppleImplementer) id.vendor = Vendor::kApple;
  if (core_kinds(id).empty())
    return usage_error(fmt::format("the event table has no CPU '{}'", text), known_near(id));
  return id;
}

}  // namespace hwprof
