// Arm and Apple. Encodings: the event number of the architecture in bits 0 to 15.
#include "counters/events/event_table.h"

namespace hwprof {
namespace {

enum Core : unsigned {
  kNeoverseN1,
  kNeoverseN2,
  kNeoverseV1,
  kNeoverseV2,
  kCortexA57,
  kCortexA72,
  kCortexA76,
  kAppleM1,
};

// Models: arch/arm64/include/asm/cputype.h. Widths: Arm optimisation manuals; Apple as commonly
// published.
constexpr CoreRow kCores[] = {
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

constexpr CoreSet kSve128 = cores(Core::kNeoverseN2, Core::kNeoverseV2);
constexpr CoreSet kOld = cores(Core::kCortexA57, Core::kCortexA72);
constexpr CoreSet kNoFp = kOld | cores(Core::kCortexA76, Core::kNeoverseN1);
constexpr CoreSet kArm = kNoFp | kSve128 | cores(Core::kNeoverseV1);
constexpr CoreSet kNew = kArm & ~kOld;
constexpr CoreSet kApple = cores(Core::kAppleM1);

constexpr std::string_view kArmArm = "Arm ARM (DDI 0487) D14 and the core's reference manual";
constexpr std::string_view kDriver =
    "linux drivers/perf/apple_m1_cpu_pmu.c, found by experiment [not verified]";

constexpr std::string_view kFlopsAre =
    "floating-point operations, each lane, of Neon and of SVE instructions";
constexpr std::string_view kFlopsLie =
    "speculative: work that was thrown away counts; a fused multiply-add counts as 2; masked lanes "
    "count in full; the SVE weight supposes this core's full vector length";
constexpr std::string_view kNoFlops =
    "this core counts floating-point instructions only, not operations";
constexpr std::string_view kAskSpec =
    "ask for r74 (Neon) and r75 (scalar) for the instructions, speculative ones included";
constexpr std::string_view kNoPrecision =
    "this core counts operations of all precisions together, and instructions by precision";
constexpr std::string_view kUnknown = "the kernel's driver knows no such event on Apple cores";
constexpr std::string_view kTimeOnly = "cycles and instructions can be counted";

constexpr EventRow kRows[] = {
    {kSve128,
     "flops",
     "",
     {{{"FP_FIXED_OPS_SPEC", 0x80c1, 1}, {"FP_SCALE_OPS_SPEC", 0x80c0, 1}}},
     kFlopsAre,
     kFlopsLie,
     kArmArm},
    // FP_SCALE_OPS_SPEC counts for each 128 bits of vector: V1 has 256.
    {cores(Core::kNeoverseV1),
     "flops",
     "",
     {{{"FP_FIXED_OPS_SPEC", 0x80c1, 1}, {"FP_SCALE_OPS_SPEC", 0x80c0, 2}}},
     kFlopsAre,
     kFlopsLie,
     kArmArm},
    {kNoFp, "flops", "", {}, kNoFlops, kAskSpec, kArmArm},
    {kNoFp, "flops-sp", "", {}, kNoFlops, kAskSpec, kArmArm},
    {kNoFp, "flops-dp", "", {}, kNoFlops, kAskSpec, kArmArm},
    {kArm & ~kNoFp, "flops-sp", "", {}, kNoPrecision, "ask for flops", kArmArm},
    {kArm & ~kNoFp, "flops-dp", "", {}, kNoPrecision, "ask for flops", kArmArm},

    {kNew,
     "llc-miss",
     "llc-read-miss",
     {{{"LL_CACHE_MISS_RD", 0x37, 1}}},
     "reads of this core that missed the last-level cache",
     "reads only; the firmware chooses which cache counts as the last (CPUECTLR.EXTLLC)",
     kArmArm},
    {kNew,
     "llc-ref",
     "llc-read",
     {{{"LL_CACHE_RD", 0x36, 1}}},
     "reads of this core that reached the last-level cache",
     "reads only; the firmware chooses which cache counts as the last (CPUECTLR.EXTLLC)",
     kArmArm},
    {kOld,
     "llc-miss",
     "l2-miss",
     {{{"L2D_CACHE_REFILL", 0x17, 1}}},
     "lines brought into L2, the last level inside the cluster",
     "a system cache behind it is not seen; prefetches may count",
     kArmArm},
    {kOld,
     "llc-ref",
     "l2-ref",
     {{{"L2D_CACHE", 0x16, 1}}},
     "accesses to L2, the last level inside the cluster",
     "a system cache behind it is not seen",
     kArmArm},
    {kArm,
     "l2-miss",
     "",
     {{{"L2D_CACHE_REFILL", 0x17, 1}}},
     "lines brought into L2",
     "prefetches may count",
     kArmArm},
    {kArm,
     "cache-misses",
     "l1d-refill",
     {{{"L1D_CACHE_REFILL", 0x03, 1}}},
     "lines brought into L1: on Arm the kernel's cache-misses is not the last level",
     "prefetches may count",
     "linux drivers/perf/arm_pmuv3.c"},
    {kArm,
     "cache-references",
     "l1d-access",
     {{{"L1D_CACHE", 0x04, 1}}},
     "accesses to L1: on Arm the kernel's cache-references is not the last level",
     "",
     "linux drivers/perf/arm_pmuv3.c"},
    {kNew,
     "dtlb-miss",
     "",
     {{{"DTLB_WALK", 0x34, 1}}},
     "loads and stores that needed a page walk",
     "speculative",
     kArmArm},
    {kOld,
     "dtlb-miss",
     "l1-dtlb-miss",
     {{{"L1D_TLB_REFILL", 0x05, 1}}},
     "misses of the first-level data TLB",
     "most hit the second level, which costs little",
     kArmArm},
    {kNew,
     "stalls",
     "backend-stalls",
     {{{"STALL_BACKEND", 0x24, 1}}},
     "cycles in which nothing was issued because the back end could take nothing",
     "the front end's stalls are left out",
     kArmArm},
    {kOld,
     "stalls",
     "",
     {},
     "this core has no event for stalled cycles",
     "cycles and instructions still give the IPC",
     kArmArm},
    {kArm,
     "dram-fills",
     "",
     {},
     "this name is for AMD; Arm cores have a last-level event",
     "ask for llc-miss",
     kArmArm},

    {kApple,
     "dtlb-miss",
     "",
     {{{"MMU_TABLE_WALK_DATA", 0x08, 1}}},
     "page walks for data, by the event's name",
     "the meaning is the driver's guess",
     kDriver},
    {kApple,
     "stalls",
     "map-stalls",
     {{{"MAP_STALL", 0x76, 1}}},
     "cycles in which register mapping stalled, by the event's name",
     "the meaning is the driver's guess",
     kDriver},
    {kApple, "flops", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "flops-sp", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "flops-dp", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "llc-miss", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "llc-ref", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "l2-miss", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "cache-misses", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "cache-references", "", {}, kUnknown, kTimeOnly, kDriver},
    {kApple, "dram-fills", "", {}, kUnknown, kTimeOnly, kDriver},
};

}  // namespace

EventTable arm_table() { return {kCores, kRows}; }

}  // namespace hwprof
