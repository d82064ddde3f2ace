// The peers of bench/ beside a profile's rows, as a table.
#include <fmt/format.h>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

// As much of its row as names the group.
Row work_of(const Peer& peer) {
  Row row;
  row.op = peer.op;
  row.shape = peer.shape;
  row.threads = peer.threads;
  return row;
}

std::string rate_cell(const Peer& peer) {
  if (!peer.gflops_low || !peer.gflops_high) return significant(peer.gflops, 3);
  return with_interval(peer.gflops, *peer.gflops_low, *peer.gflops_high);
}

std::string peer_time_cell(const Peer& peer) {
  if (!peer.time_low_ns || !peer.time_high_ns) return duration(peer.time_ns);
  return duration_with_interval(peer.time_ns, *peer.time_low_ns, *peer.time_high_ns);
}

}  // namespace

Table peers_table(const std::optional<Peers>& peers) {
  if (!peers) return {};
  Table table{
      .title =
          "Peers: other ways to do the work of a row, measured by scripts/bench in another run",
      .columns = {{"peer", true},
                  {"time\n(median)"},
                  {"GFLOP/s"},
                  {"FLOP/\nbyte", false, true},
                  {"FLOP\na call", false, true},
                  {"bytes\na call", false, true},
                  {"read from", true, true}},
      .rows = {}};
  for (const Peer& peer : peers->points) {
    table.rows.push_back(
        {group_of(work_of(peer)),
         {peer.name, peer_time_cell(peer), rate_cell(peer), significant(peer.intensity, 3),
          si(peer.flops, ""), binary_bytes(peer.bytes), file_name(peer.file)},
         fmt::format("/peers/points/{}", table.rows.size())});
  }
  if (!table.rows.empty())
    table.notes.emplace_back(
        "Peers: same CPU, operation, sizes, threads and FLOP as a row of this profile; GFLOP/s is "
        "those FLOP over the time. ±: the longer side of the 95 % interval of the median of runs "
        "like that one. They were measured in another run than the rows; scripts/bench has the "
        "ratios of peers within one run.");
  append(table.notes, peers->left_out);
  table.brief = peers->left_out;
  return table;
}

}  // namespace hwprof::report
