// The table that the audit library shares with hwprof: every watched program may write to it, by
// the descriptor that its environment names, and so does this.
#include "src/observe/calls/audit.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "src/base/text.h"
#include "src/observe/calls/call_tally.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
using namespace hwprof::observe;

constexpr const char* kRoutines[] = {
    "sgemm_",       "cblas_dgemm",      "ddot_",   "zhemm_",
    "dtrsm_",       "cblas_csyrk",      "dgetrf_", "dnnl_primitive_execute",
    "fftw_execute", "fftwf_plan_dft_1d"};
constexpr const char* kWorks[] = {
    "convolution", "deconvolution", "inner_product", "matmul", "reorder", "c2c", "r2r"};

struct Unmap {
  void operator()(audit::Table* table) const { ::munmap(table, sizeof *table); }
};

// As the audit library finds it.
std::unique_ptr<audit::Table, Unmap> table_of(const Audit& audit) {
  const std::string variable = audit.environment(0).back();
  const std::string_view prefix = audit::kVariable;
  must(variable.starts_with(prefix));
  const std::string path = variable.substr(prefix.size(), variable.rfind(':') - prefix.size());
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  void* memory =
      ::mmap(nullptr, sizeof(audit::Table), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  must(memory != MAP_FAILED);
  return std::unique_ptr<audit::Table, Unmap>(static_cast<audit::Table*>(memory));
}

void copy_text(std::string_view text, char* to, std::size_t room) {
  std::memcpy(to, text.data(), std::min(text.size(), room));
}

// One thing that a program may do to the table: what the library writes, with any values in it, or
// any bytes anywhere.
void write_something(audit::Table& table, Feed& feed) {
  enum { kFile, kSite, kShape, kOthers, kLongCall, kPrepared, kModuleCall, kBytes, kThings };
  switch (feed.below(kThings)) {
    case kFile: {
      audit::File& file = table.files[feed.below(audit::kFiles)];
      file.state = static_cast<audit::u32>(feed.below(4));
      file.has_blas = file.others_called = 1;
      copy_text(feed.text(), file.path, sizeof file.path);
      return;
    }
    case kSite: {
      audit::Site& site = table.sites[feed.below(8)];
      site.state = static_cast<audit::u32>(feed.below(4));
      site.caller = feed.number<std::uint16_t>();
      site.library = feed.number<std::uint16_t>();
      const std::size_t routine = feed.below(std::size(kRoutines) + 1);
      copy_text(routine < std::size(kRoutines) ? kRoutines[routine] : feed.text(), site.symbol,
                sizeof site.symbol);
      return;
    }
    case kShape: {
      audit::Shard& shard = table.sites[feed.below(8)].shards[feed.below(audit::kShards)];
      audit::CountedShape& slot = shard.shapes[feed.below(audit::kShapes)];
      slot.state = static_cast<audit::u32>(feed.below(4));
      slot.shape = {feed.number<std::uint64_t>(), feed.number<std::uint64_t>(),
                    feed.number<std::uint64_t>(), feed.number<std::uint32_t>()};
      slot.count = feed.number<std::uint64_t>();
      slot.returned = feed.number<std::uint64_t>();
      slot.ticks = feed.number<std::uint64_t>();
      return;
    }
    case kOthers:
      table.sites[feed.below(8)].shards[feed.below(audit::kShards)].others.count =
          feed.number<std::uint64_t>();
      return;
    case kLongCall: {
      const std::uint64_t number = feed.below(16);
      audit::LongCall& call = table.calls[number];
      call = {.number = number,
              .began = feed.number<std::uint64_t>(),
              .ended = feed.number<std::uint64_t>(),
              .site = feed.number<std::uint16_t>(),
              .slot = feed.number<std::uint16_t>(),
              .thread = feed.number<std::uint32_t>()};
      audit::CallPlace& place = table.places[number];
      place.process = feed.number<std::uint8_t>();
      place.frame_count = feed.number<std::uint16_t>();
      place.whole = feed.number<std::uint16_t>();
      for (audit::CalledFrame& frame : place.frames)
        frame = {feed.number<std::uint64_t>(), feed.number<std::uint64_t>()};
      copy_text(feed.text(), place.region, sizeof place.region);
      table.long_calls = feed.below(2) == 0 ? number : feed.number<std::uint64_t>();
      return;
    }
    case kPrepared: {
      audit::PreparedCalls& calls = table.prepared[feed.below(8)];
      calls.state = static_cast<audit::u32>(feed.below(4));
      calls.site = static_cast<audit::u32>(feed.below(9));
      const std::size_t work = feed.below(std::size(kWorks) + 1);
      copy_text(work < std::size(kWorks) ? kWorks[work] : feed.text(), calls.work.kind,
                sizeof calls.work.kind);
      for (TensorShape* shape : {&calls.work.source, &calls.work.weights, &calls.work.result}) {
        shape->dimensions = feed.below(8);
        for (long& size : shape->sizes) size = feed.number<std::int64_t>();
      }
      calls.counted.count = feed.number<std::uint64_t>();
      calls.counted.ticks = feed.number<std::uint64_t>();
      return;
    }
    case kModuleCall: {
      audit::ModuleCalls& calls = table.module_calls[feed.below(audit::kModuleCalls)];
      table.open_modules.used = 1;
      calls = {.state = static_cast<audit::u32>(feed.below(4)),
               .process = feed.number<std::uint8_t>(),
               .module = feed.number<std::uint8_t>(),
               .site = static_cast<audit::u32>(feed.below(9)),
               .slot = feed.number<std::uint16_t>(),
               .count = feed.number<std::uint64_t>(),
               .returned = feed.number<std::uint64_t>(),
               .ticks = feed.number<std::uint64_t>()};
      return;
    }
    default: {
      const std::size_t at = feed.number<std::uint32_t>() % sizeof table;
      copy_text(feed.text(), reinterpret_cast<char*>(&table) + at, sizeof table - at);
    }
  }
}

}  // namespace

void fuzz(std::string_view text) {
  auto audit = Audit::create("/lib/libhwprof-audit.so");
  must(audit.has_value());
  const auto table = table_of(*audit);
  Feed feed(text);
  while (!feed.empty()) write_something(*table, feed);
  const AuditedCalls calls = audit->finish();
  const auto& sites = calls.sites;
  must(sites.size() <= audit::kSites);
  must(!calls.wall_ns || (std::isfinite(*calls.wall_ns) && *calls.wall_ns >= 0));
  must(calls.spans.size() <= 3000);
  for (const report::TraceSpan& span : calls.spans) {
    must(span.start_ns >= 0 && span.duration_ns >= 0);
    must(!span.region || span.region->size() <= audit::kRegionBytes);
    must(!span.line && !span.stack);  // nobody made lines of the addresses
  }
  must(audit->blas_files().size() <= audit::kFiles);
  must(audit->processes() == table->processes && audit->unwatched() == table->unwatched);
  for (const auto* prepared : {&calls.primitives, &calls.transforms}) {
    for (const report::PreparedCall& call : *prepared) {
      must(call.kind.size() <= sizeof(PreparedWork::kind) + sizeof("planning "));
      must(call.shape.size() < 400);
      must(!call.time_ns || (std::isfinite(*call.time_ns) && *call.time_ns >= 0));
      must(!call.flops || (std::isfinite(*call.flops) && *call.flops >= 0));
    }
  }
  for (const CallsOfModule& of_module : calls.of_modules)
    must(!of_module.site.flops || std::isfinite(*of_module.site.flops));
  for (const report::CallSite& site : sites) {
    Routine routine;
    must(find_routine(site.symbol.c_str(), routine));
    must(site.caller.size() <= PATH_MAX && site.library.size() <= PATH_MAX);
    must(site.shapes.size() <= kMostShapes);
    must(!site.time_ns || (std::isfinite(*site.time_ns) && *site.time_ns >= 0));
    must(!site.flops || (std::isfinite(*site.flops) && *site.flops >= 0));
  }
}
