#include "src/blas/evidence/cores_in_calls.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace hwprof::blas {
namespace {

// Symbol, library and caller; of prepared work also what it was made for.
using RowKey = std::tuple<std::string, std::string, std::string, std::string, std::string,
                          std::string, std::string>;

RowKey row_key(const report::CallSite& site) {
  return {site.symbol, site.library, site.caller, "", "", "", ""};
}

RowKey row_key(const report::PreparedCall& call, const std::string& library,
               const std::string& caller) {
  return {call.kind, library, caller, call.direction, call.implementation, call.type, call.shape};
}

RowKey row_key(const observe::CallKind& kind) {
  if (kind.prepared) return row_key(*kind.prepared, kind.library, kind.caller);
  return {kind.symbol, kind.library, kind.caller, "", "", "", ""};
}

struct InCalls {
  double samples = 0, time_ns = 0;
};

std::map<std::uint64_t, double> samples_by_kind(const observe::LineProfile& profile) {
  std::map<std::uint64_t, double> samples;
  for (const observe::LineSamples& line : profile.lines)
    for (const auto& [number, calls] : line.calls) samples[number] += calls.samples;
  return samples;
}

}  // namespace

std::set<std::string> libraries_that_call(const observe::LineProfile& profile,
                                          const std::vector<observe::CallKind>& kinds) {
  const auto samples_of = samples_by_kind(profile);
  std::set<std::string> libraries;
  for (const observe::CallKind& kind : kinds)
    if (samples_of.contains(kind.number)) libraries.insert(kind.caller);
  return libraries;
}

void add_cores(const observe::LineProfile& profile, const std::vector<observe::CallKind>& kinds,
               double sampling_hz, report::Called& called) {
  if (sampling_hz <= 0) return;
  const auto samples_of = samples_by_kind(profile);
  const std::set<std::string> with_inner = libraries_that_call(profile, kinds);
  std::map<RowKey, InCalls> rows;
  for (const observe::CallKind& kind : kinds) {
    InCalls& row = rows[row_key(kind)];
    row.time_ns += kind.time_ns;
    if (const auto found = samples_of.find(kind.number); found != samples_of.end())
      row.samples += found->second;
  }
  const auto cores_of = [&](const std::string& library,
                            const RowKey& key) -> std::optional<double> {
    const auto row = rows.find(key);
    if (with_inner.contains(library) || row == rows.end() ||
        row->second.samples < kEnoughForCores || row->second.time_ns <= 0)
      return std::nullopt;
    return row->second.samples / sampling_hz * 1e9 / row->second.time_ns;
  };
  for (report::CallSite& site : called.calls) site.cores = cores_of(site.library, row_key(site));
  for (auto* calls : {&called.primitives, &called.transforms})
    for (report::PreparedCall& call : *calls)
      call.cores = cores_of(call.library, row_key(call, call.library, call.caller));
}

}  // namespace hwprof::blas
