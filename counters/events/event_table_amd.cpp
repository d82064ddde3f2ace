// AMD Zen. Encodings: umask in bits 8 to 15, event in bits 0 to 7 (and 32 to 35).
#include "counters/events/event_table.h"

namespace hwprof {
namespace {

enum Core : unsigned {
  kZen1,
  kZen2,
  kZen3,
  kZen4,
  kZen5,
};

// Models: bsp_init_amd() in arch/x86/kernel/cpu/amd.c. Widths: AMD software optimisation guides.
constexpr CoreRow kCores[] = {
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
};

constexpr CoreSet kMixed = cores(Core::kZen2, Core::kZen3, Core::kZen4);
constexpr CoreSet kAll = kMixed | cores(Core::kZen1, Core::kZen5);

constexpr std::string_view kPpr = "AMD PPR of the family, PMCx events; linux amdzen event files";
constexpr std::string_view kLikwid767 =
    "linux amdzen5 event files; LIKWID issue 767 saw half of the expected count [not verified]";
constexpr std::string_view kLikwidZen5 =
    "LIKWID 5.5 event list for Zen 5; linux has the same without the low bits [not verified]";

constexpr std::string_view kFlopsAre = "retired SSE and AVX floating-point operations, each lane";
constexpr std::string_view kFlopsLie =
    "a multiply-accumulate counts as 2; takes two counters of the six; x87 is left out";
constexpr std::string_view kZen5Lies =
    "takes two counters of the six for each term; half of the expected count was seen with AVX-512 "
    "FMA: compare with an exact count before trusting it";
constexpr std::string_view kNoSplit =
    "this core counts single and double precision in one event: they cannot be told apart";
constexpr std::string_view kNoLlc =
    "Zen has no last-level event per core: the L3 counts per package (amd_l3) and needs root";
constexpr std::string_view kAskFills =
    "ask for l2-miss or dram-fills, which the core counts for itself";
constexpr std::string_view kL2Lies = "speculative; the L2 prefetcher's own requests are left out";

constexpr EventRow kRows[] = {
    {cores(Core::kZen1),
     "flops",
     "",
     {{{"RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_DIV_FLOPS:SP_MULT_ADD_FLOPS:"
        "DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_DIV_FLOPS:DP_MULT_ADD_FLOPS",
        0xff03, 1}}},
     kFlopsAre,
     kFlopsLie,
     kPpr},
    {cores(Core::kZen1),
     "flops-sp",
     "",
     {{{"RETIRED_SSE_AVX_OPERATIONS:SP_ADD_SUB_FLOPS:SP_MULT_FLOPS:SP_DIV_FLOPS:SP_MULT_ADD_FLOPS",
        0x0f03, 1}}},
     kFlopsAre,
     kFlopsLie,
     kPpr},
    {cores(Core::kZen1),
     "flops-dp",
     "",
     {{{"RETIRED_SSE_AVX_OPERATIONS:DP_ADD_SUB_FLOPS:DP_MULT_FLOPS:DP_DIV_FLOPS:DP_MULT_ADD_FLOPS",
        0xf003, 1}}},
     kFlopsAre,
     kFlopsLie,
     kPpr},
    {cores(Core::kZen2, Core::kZen3),
     "flops",
     "",
     {{{"RETIRED_SSE_AVX_FLOPS:ANY", 0x0f03, 1}}},
     "retired SSE and AVX floating-point operations, each lane, single and double together",
     kFlopsLie,
     kPpr},
    {cores(Core::kZen4),
     "flops",
     "",
     {{{"RETIRED_SSE_AVX_FLOPS:ANY", 0x1f03, 1}}},
     "retired SSE and AVX floating-point operations, each lane: single, double and bfloat16 "
     "together",
     kFlopsLie,
     kPpr},
    {cores(Core::kZen5),
     "flops",
     "",
     {{{"RETIRED_SSE_AVX_FLOPS:ANY", 0x0f03, 1}}},
     "retired SSE and AVX floating-point operations, each lane, all types together",
     kZen5Lies,
     kLikwid767},
    {kMixed, "flops-sp", "", {}, kNoSplit, "ask for flops", kPpr},
    {kMixed, "flops-dp", "", {}, kNoSplit, "ask for flops", kPpr},
    {cores(Core::kZen5),
     "flops-sp",
     "",
     {{{"RETIRED_SSE_AVX_FLOPS:SP_SCALAR", 0x4f03, 1},
       {"RETIRED_SSE_AVX_FLOPS:SP_PACKED", 0x6f03, 1}}},
     kFlopsAre,
     kZen5Lies,
     kLikwidZen5},
    {cores(Core::kZen5),
     "flops-dp",
     "",
     {{{"RETIRED_SSE_AVX_FLOPS:DP_SCALAR", 0x8f03, 1},
       {"RETIRED_SSE_AVX_FLOPS:DP_PACKED", 0xaf03, 1}}},
     kFlopsAre,
     kZen5Lies,
     kLikwidZen5},

    {kAll, "llc-miss", "", {}, kNoLlc, kAskFills, kPpr},
    {kAll, "llc-ref", "", {}, kNoLlc, kAskFills, kPpr},
    {kAll,
     "l2-miss",
     "",
     {{{"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS:LS_RD_BLK_C", 0x0964, 1}}},
     "data and code requests of the L1 caches that missed L2",
     kL2Lies,
     kPpr},
    {kAll,
     "cache-misses",
     "l2-miss",
     {{{"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_MISS:LS_RD_BLK_C", 0x0964, 1}}},
     "data and code requests of the L1 caches that missed L2: on Zen the kernel's cache-misses is "
     "not the last level",
     kL2Lies,
     "amd_zen_perfmon_event_map in linux arch/x86/events/amd/core.c"},
    {kAll,
     "cache-references",
     "l2-ref",
     {{{"REQUESTS_TO_L2_GROUP1:ALL", 0xff60, 1}}},
     "requests to L2, prefetches included: on Zen the kernel's cache-references is not the last "
     "level",
     "speculative",
     "amd_zen_perfmon_event_map in linux arch/x86/events/amd/core.c"},
    {cores(Core::kZen2),
     "dram-fills",
     "demand-dram-fills",
     {{{"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM", 0x4843, 1}}},
     "data cache lines that a demand access brought from memory",
     "lines that a prefetcher brought are left out",
     kPpr},
    {cores(Core::kZen3),
     "dram-fills",
     "",
     {{{"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT", 0x4844, 1}}},
     "data cache lines that came from memory, demanded or prefetched",
     "lines that the L2 prefetcher left in L2 are left out",
     kPpr},
    {cores(Core::kZen4),
     "dram-fills",
     "",
     {{{"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR", 0x4844, 1}}},
     "data cache lines that came from memory, demanded or prefetched",
     "lines that the L2 prefetcher left in L2 are left out",
     kPpr},
    {cores(Core::kZen5),
     "dram-fills",
     "",
     {{{"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR", 0x4844, 1}}},
     "data cache lines that came from memory, demanded or prefetched",
     "lines that the L2 prefetcher left in L2 are left out",
     "linux amdzen5 event files (ls_any_fills_from_sys.dram_io_all); LIKWID 5.5"},
    {cores(Core::kZen1),
     "dram-fills",
     "",
     {},
     "no encoding for fills from memory could be verified for Zen 1",
     "ask for l2-miss",
     kPpr},

    {kAll,
     "dtlb-miss",
     "",
     {{{"L1_DTLB_MISS:TLB_RELOAD_1G_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_COALESCED_PAGE_MISS:"
        "TLB_RELOAD_4K_L2_MISS",
        0xf045, 1}}},
     "loads and stores that missed both TLB levels and needed a page walk",
     "speculative",
     kPpr},

    {cores(Core::kZen4),
     "stalls",
     "no-retire-cycles",
     {{{"CYCLES_NO_RETIRE:ALL", 0x1bd6, 1}}},
     "cycles in which no operation retired, for any reason",
     "not the same as cycles without execution: a sibling hyper-thread's turn counts",
     "linux amdzen4 event files, ex_no_retire.all"},
    {cores(Core::kZen5),
     "stalls",
     "no-retire-cycles",
     {{{"CYCLES_NO_RETIRE:ALL", 0x1bd6, 1}}},
     "cycles in which no operation retired, for any reason",
     "not the same as cycles without execution: a sibling hyper-thread's turn counts",
     "linux amdzen5 event files, ex_no_retire.all"},
    {cores(Core::kZen1, Core::kZen2, Core::kZen3),
     "stalls",
     "",
     {},
     "Zen 1 to 3 count stalls by resource only, and one cycle may count for several",
     "cycles and instructions still give the IPC; or ask libpfm4 for "
     "DISPATCH_RESOURCE_STALL_CYCLES_1",
     kPpr},
};

}  // namespace

EventTable amd_table() { return {kCores, kRows}; }

}  // namespace hwprof
