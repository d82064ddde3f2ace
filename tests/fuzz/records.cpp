// What a ring of the kernel holds: the worker maps it, and a record is as long as it says. From the
// records on to calls and to what lies where in the processes.
#include "src/observe/perf/records.h"

#include <bit>
#include <vector>

#include "src/observe/calls/call_tally.h"
#include "src/observe/calls/executions.h"
#include "src/observe/unwind/registers.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof::observe;

std::vector<EventFormat> formats() {
  EventFormat enter{.type = 1,
                    .id = {8, 4},
                    .ret = {12, 8},
                    .sp = {20, 8},
                    .layout = {28, 1},
                    .side = {29, 1},
                    .transpose_a = {30, 1},
                    .transpose_b = {31, 1},
                    .m = {32, 4},
                    .n = {36, 4},
                    .k = {40, 8}};
  EventFormat leave{.type = 2,
                    .leaves = true,
                    .id = {8, 4},
                    .ret = {},
                    .sp = {},
                    .layout = {},
                    .side = {},
                    .transpose_a = {},
                    .transpose_b = {},
                    .m = {},
                    .n = {},
                    .k = {}};
  return {enter, leave};
}

}  // namespace

void fuzz(std::string_view text) {
  if (text.size() < 2) return;
  const std::uint64_t types[] = {kInstructionHits, kStackHits | kUserIp | kStackTop, kProbeHits};
  const std::uint64_t type = types[static_cast<unsigned char>(text[0]) % 3];
  const std::uint64_t registers =
      (static_cast<unsigned char>(text[0]) & 0x80U) != 0 ? kUnwindRegisters : kUserIpRegister;
  const auto tail = static_cast<std::uint64_t>(static_cast<unsigned char>(text[1]));
  text.remove_prefix(2);
  // A ring is a power of two, and a record may go round its end.
  std::vector<std::byte> ring(std::bit_ceil(std::max<std::size_t>(text.size(), 64)));
  for (std::size_t i = 0; i < text.size(); ++i)
    ring[(tail + i) % ring.size()] = static_cast<std::byte>(text[i]);
  const RingContent content = parse_ring(ring, tail, tail + text.size(), type, registers);
  CallTally tally;
  for (const char* name : {"sgemm_", "cblas_dgemm", "ddot_"}) {
    EntryPoint entry{.symbol = name, .offset = 0x1000, .size = 64, .routine = {}};
    must(find_routine(name, entry.routine));
    tally.watch({"/lib/blas.so", entry});
  }
  Executions executions;
  for (const Record& record : content.records) {
    if (const auto* sample = std::get_if<Sample>(&record.body)) registers_of(*sample);
    executions.apply(record);
    tally.apply(record);
    if (const auto* sample = std::get_if<Sample>(&record.body)) {
      if (const auto hit = decode_hit(*sample, record.time_ns, formats())) tally.add(*hit);
    }
  }
  must(executions.watched() <= executions.count());
  tally.sites();
}
