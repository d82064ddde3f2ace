#include "src/blas/evidence/missed_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

namespace hwprof::blas {
namespace {

report::MissedCalls missed_calls(const report::CallSite& site, const report::Called& called) {
  using report::MissedBecause;
  report::MissedCalls missed{.symbol = site.symbol,
                             .caller = site.caller,
                             .library = site.library,
                             .because = site.caller == site.library ? MissedBecause::kOwnCall
                                        : site.caller.empty()       ? MissedBecause::kNoFile
                                                                    : MissedBecause::kBinding,
                             .by_uprobes = site.count};
  for (const auto* calls : {&called.calls, &called.lapack})
    for (const report::CallSite& seen : *calls)
      if (seen.symbol == site.symbol && seen.library == site.library) missed.by_audit += seen.count;
  return missed;
}

std::string missed_text(const report::MissedCalls& missed) {
  using report::MissedBecause;
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  const std::string library = name(missed.library);
  return fmt::format(
      "{} of {} in {} {} seen by uprobes alone, without a time: {}.", calls_text(missed.by_uprobes),
      missed.symbol, library, missed.by_uprobes == 1 ? "was" : "were",
      missed.because == MissedBecause::kOwnCall
          ? fmt::format("{} calls itself there, and the dynamic loader binds no such call", library)
      : missed.because == MissedBecause::kNoFile
          ? "they come from code of no file"
          : fmt::format("LD_AUDIT missed the binding of {}", name(missed.caller)));
}

// Files that stubs have passed calls on to: what such a file calls in itself may be part of these.
std::set<std::string> entered_files(const report::Called& called) {
  std::set<std::string> files;
  for (const auto* calls : {&called.calls, &called.lapack})
    for (const report::CallSite& site : *calls) files.insert(site.library);
  return files;
}

}  // namespace

std::string calls_text(std::uint64_t count) {
  return count == 1 ? "1 call" : fmt::format("{} calls", count);
}

bool add_missed(observe::Uprobes& uprobes, const observe::Audit& audit,
                const std::vector<pid_t>& left, report::Called& called) {
  constexpr std::size_t kMostSaid = 8;
  const std::set<std::string> entered = entered_files(called);
  report::ComparedCalls compared;
  std::vector<report::CallSite> unseen;
  for (report::CallSite& site : uprobes.finish(left)) {
    if (audit.is_library(site.caller)) {
      compared.by_both += site.count;
      continue;
    }
    if (site.caller == site.library && entered.contains(site.library)) {
      compared.within += site.count;
      continue;
    }
    compared.missed += site.count;
    compared.missed_calls.push_back(missed_calls(site, called));
    unseen.push_back(std::move(site));
  }
  std::size_t said = 0;
  for (const report::MissedCalls& missed : compared.missed_calls)
    if (++said <= kMostSaid) called.blind_to.push_back(missed_text(missed));
  if (said > kMostSaid)
    called.blind_to.push_back(fmt::format("Likewise of {} more routines.", said - kMostSaid));
  if (compared.missed == 0) {
    called.blind_to.push_back(fmt::format("Of {} that uprobes saw LD_AUDIT missed none.",
                                          calls_text(compared.by_both + compared.within)));
  } else {
    std::move(unseen.begin(), unseen.end(), std::back_inserter(called.calls));
    observe::most_flop_first(called.calls);
    called.wall_ns.reset();  // that of the others is not known
  }
  if (compared.within > 0) {
    called.blind_to.push_back(
        fmt::format("{} within a library {} taken for part of the calls into it.",
                    calls_text(compared.within), compared.within == 1 ? "is" : "are"));
  }
  for (const std::string& note : uprobes.notes()) called.blind_to.push_back("Uprobes: " + note);
  compared.lost = uprobes.lost();
  called.compared = std::move(compared);
  if (uprobes.lost() > 0) {
    called.blind_to.push_back(
        fmt::format("Uprobes lost {} records: LD_AUDIT may have missed more.", uprobes.lost()));
  }
  called.added_ns = called.added_ns.value_or(0) + uprobes.added_ns();
  called.elsewhere = uprobes.elsewhere();
  const observe::Executions& executions = uprobes.executions();
  const bool all_seen =
      executions.complete() && executions.watched() == executions.count() && uprobes.lost() == 0;
  if (all_seen) called.executions = called.executions_watched = executions.count();
  return all_seen;
}

}  // namespace hwprof::blas
