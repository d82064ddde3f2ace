#include "counters/events/event_table.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "src/base/text.h"

namespace hwprof {
namespace {

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
    {"loads", PortableKind::kCache,
     cache_event(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ,
                 PERF_COUNT_HW_CACHE_RESULT_ACCESS),
     "1", true, false,
     "accesses of the level 1 data cache, as the kernel defines them for this CPU",
     "loads that retired on Intel; loads and stores on AMD; hwprof events --calibrate tries it"},
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
  for (const CoreRow& row : core_rows()) {
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

EventTable event_table(Vendor vendor) {
  switch (vendor) {
    case Vendor::kIntel:
      return intel_table();
    case Vendor::kAmd:
      return amd_table();
    case Vendor::kArm:
    case Vendor::kApple:
      return arm_table();
    case Vendor::kOther:
      break;
  }
  return {};
}

std::span<const CoreRow> core_rows() {
  static const std::vector<CoreRow> rows = [] {
    std::vector<CoreRow> all;
    for (const EventTable& part : {intel_table(), amd_table(), arm_table()})
      all.insert(all.end(), part.cores.begin(), part.cores.end());
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
  for (const CoreRow& row : core_rows())
    if (is_model(row, id) && !row.pmu.empty() && row.pmu == pmu) return &row;
  for (const CoreRow& row : core_rows())
    if (is_model(row, id) && row.pmu.empty()) return &row;
  return nullptr;
}

std::vector<const CoreRow*> core_kinds(const CpuId& id) {
  std::vector<const CoreRow*> kinds;
  for (const CoreRow& row : core_rows())
    if (is_model(row, id)) kinds.push_back(&row);
  std::stable_partition(kinds.begin(), kinds.end(),
                        [](const CoreRow* row) { return row->pmu.empty(); });
  return kinds;
}

const EventRow* find_row(const CoreRow& core, std::string_view name) {
  for (const EventRow& row : event_table(core.vendor).rows)
    if (row.name == name && row.is_of(core)) return &row;
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
