#include "src/commands/report/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "src/base/format.h"
#include "src/model/from_json.h"
#include "src/report/data/writers.h"

namespace hwprof {
namespace {

using model::Row;

constexpr std::size_t kMostPoints = 3000;  // that a chart can draw

// All sizes of the row are the case's, which has them under each name that rows give them.
bool has_sizes_of(const BenchCase& bench, const Row& row) {
  return !row.shape.empty() && std::all_of(row.shape.begin(), row.shape.end(), [&](auto& size) {
    return std::find(bench.sizes.begin(), bench.sizes.end(), size) != bench.sizes.end();
  });
}

// Both are sums of the same products.
bool has_flops_of(const BenchCase& bench, const Row& row) {
  constexpr double kRounding = 1e-6;
  return std::abs(bench.flops - row.model.flops) <= kRounding * row.model.flops;
}

// What a row must have, each beside those before it, and what is said where none has it.
struct Condition {
  bool (*holds)(const BenchCase&, const Row&);
  std::string_view otherwise;
};

constexpr Condition kConditions[] = {
    {[](const BenchCase& bench, const Row& row) { return bench.op == row.op; },
     "no row is of that operation"},
    {has_sizes_of, "no row has its sizes"},
    {[](const BenchCase& bench, const Row& row) { return bench.threads == row.threads; },
     "no row ran on as many threads"},
    {has_flops_of, "rows of its sizes count other FLOP"},
};

// The first row of the same work; nullptr: `why`.
const Row* row_of(const BenchCase& bench, std::vector<const Row*> rows, std::string_view& why) {
  for (const Condition& condition : kConditions) {
    std::erase_if(rows, [&](const Row* row) { return !condition.holds(bench, *row); });
    why = condition.otherwise;
    if (rows.empty()) return nullptr;
  }
  return rows.front();
}

// Those on the roofline: of a network, the layers of its first form.
std::vector<const Row*> rows_of(const model::Profile& profile) {
  std::vector<const Row*> rows;
  for (const Row& row : profile.rows) rows.push_back(&row);
  if (profile.layers && !profile.layers->forms.empty())
    for (const model::LayerRow& layer : profile.layers->forms.front().layers)
      rows.push_back(&layer.row);
  return rows;
}

model::Peer point_of(const BenchTime& time, const BenchCase& bench, const Row& row,
                     const std::string& file) {
  const auto rate = [&](const std::optional<double>& ns) {
    return ns ? std::optional(bench.flops / *ns) : std::nullopt;
  };
  return {.name = time.name,
          .file = file,
          .op = row.op,
          .shape = row.shape,
          .threads = row.threads,
          .time_ns = time.ns,
          .time_low_ns = time.low_ns,
          .time_high_ns = time.high_ns,
          .flops = bench.flops,
          .bytes = bench.bytes,
          .gflops = bench.flops / time.ns,
          .gflops_low = rate(time.high_ns),
          .gflops_high = rate(time.low_ns),
          .intensity = bench.flops / bench.bytes};
}

// "bench.json: no point for 12 cases of conv1d-maxpool (no row has its sizes), 2 cases of ..."
class LeftOut {
 public:
  void add(const std::string& op, std::string_view why) {
    const std::pair key(op, std::string(why));
    if (++counts_[key] == 1) order_.push_back(key);
  }
  void write(const std::string& path, std::vector<std::string>& sentences) const {
    std::vector<std::string> parts;
    for (const auto& key : order_)
      parts.push_back(fmt::format("{} of {} ({})", report::counted(counts_.at(key), "case"),
                                  key.first, key.second));
    if (!parts.empty())
      sentences.push_back(fmt::format("{}: no point for {}.", path, fmt::join(parts, ", ")));
  }

 private:
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
  std::vector<std::pair<std::string, std::string>> order_;
};

}  // namespace

model::Peers peers_of(const model::Profile& profile, const BenchFile& bench) {
  model::Peers peers;
  if (bench.cpu != profile.machine.cpu_name) {
    peers.left_out.push_back(
        fmt::format("{}: no point, since it was measured on another CPU ({}, not {}).", bench.path,
                    bench.cpu, profile.machine.cpu_name));
    return peers;
  }
  const std::vector<const Row*> rows = rows_of(profile);
  LeftOut left_out;
  for (const BenchCase& one : bench.cases) {
    if (!one.failure.empty()) {
      left_out.add(one.op, one.failure);
      continue;
    }
    if (one.peers.empty()) continue;  // ours alone
    std::string_view why;
    const Row* row = row_of(one, rows, why);
    if (row == nullptr) {
      left_out.add(one.op, why);
      continue;
    }
    for (const BenchTime& time : one.peers)
      peers.points.push_back(point_of(time, one, *row, bench.path));
  }
  left_out.write(bench.path, peers.left_out);
  return peers;
}

Result<void> add_peers(ReportFile& file, std::span<const BenchFile> benches) {
  auto profile = model::from_json<model::Profile>(file.json);
  if (!profile)
    return usage_error(fmt::format("{}: {}", file.path, profile.error().what),
                       "the file was not written by hwprof, or changed since");
  model::Peers all = profile->peers.value_or(model::Peers{});
  for (const BenchFile& bench : benches) {
    model::Peers peers = peers_of(*profile, bench);
    std::move(peers.points.begin(), peers.points.end(), std::back_inserter(all.points));
    std::move(peers.left_out.begin(), peers.left_out.end(), std::back_inserter(all.left_out));
  }
  if (all.points.size() > kMostPoints)
    return usage_error(
        fmt::format("{} has more than {} peers beside its rows", file.path, kMostPoints),
        "name fewer files");
  file.json["peers"] = nlohmann::ordered_json::parse(report::json_of(all));
  return {};
}

}  // namespace hwprof
