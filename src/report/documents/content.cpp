#include "src/report/documents/content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "counters/machine/affinity.h"
#include "src/base/format.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

std::string caches_text(const Machine& machine) {
  std::vector<std::string> parts;
  for (const CacheLevel& cache : machine.caches) {
    std::string text =
        fmt::format("L{} {}", cache.level, binary_bytes(static_cast<double>(cache.bytes)));
    if (cache.shared_by > 1) text += fmt::format(" for {} CPUs", cache.shared_by);
    parts.push_back(std::move(text));
  }
  return fmt::format("{}; {}",
                     parts.empty() ? "unknown" : fmt::format("{}", fmt::join(parts, ", ")),
                     machine.isa.empty() ? "instruction sets unknown"
                                         : fmt::format("{}", fmt::join(machine.isa, " ")));
}

std::string pin_text(const Profile& profile) {
  const Pin& pin = profile.pin;
  std::string text;
  if (pin.requested.empty()) {
    text = "not pinned; may run on " + cpus_in_words(pin.actual);
  } else if (pin.requested == pin.actual) {
    text = cpus_in_words(pin.actual);
  } else {
    text = fmt::format("asked for {}, runs on {}", cpus_in_words(pin.requested),
                       cpus_in_words(pin.actual));
  }
  text += fmt::format(", {}, {}", counted(static_cast<std::uint64_t>(profile.threads), "thread"),
                      counted(pin.migrations, "migration"));
  if (profile.threads > 1) text += " of the main thread";
  if (!profile.simd_target.empty()) {
    text += fmt::format("; simd variants use {}", profile.simd_target);
  }
  return text;
}

std::string peak_text(const Peak& peak) {
  std::vector<std::string> narrower;
  for (const auto& [isa, gflops] : peak.by_isa) {
    if (isa != peak.isa) narrower.push_back(fmt::format("{} {}", isa, significant(gflops, 3)));
  }
  std::string text =
      fmt::format("{} GFLOP/s (float32, {}, {})", significant(peak.f32_gflops, 3), peak.isa,
                  counted(static_cast<std::uint64_t>(peak.threads), "thread"));
  if (!narrower.empty()) text += fmt::format("; {} GFLOP/s", fmt::join(narrower, ", "));
  return text;
}

std::string bandwidth_text(const Peak& peak) {
  std::vector<std::string> parts;
  for (const Bandwidth& level : peak.bandwidth) {
    parts.push_back(fmt::format("{} {}/{}/{} in {}", level.level, significant(level.read_gbs, 3),
                                significant(level.copy_gbs, 3), significant(level.triad_gbs, 3),
                                binary_bytes(static_cast<double>(level.working_set_bytes))));
  }
  if (parts.empty()) return "not measured";
  return fmt::format("GB/s read/copy/triad: {}", fmt::join(parts, ", "));
}

// "CPU 0, 1 thread; measured: FMA peak 265 GFLOP/s (float32, avx512), memory 31.5 GB/s (read)"
std::string place_text(const Profile& profile) {
  const CpuList& cpus = profile.pin.actual;
  std::string text = fmt::format("{}{}, {}", cpus_in_words(cpus),
                                 profile.pin.requested.empty() ? " (not pinned)" : "",
                                 counted(static_cast<std::uint64_t>(profile.threads), "thread"));
  if (!profile.peak) return text + "; no peak: " + given(profile.peak_reason);
  text += fmt::format("; measured: FMA peak {} GFLOP/s (float32, {})",
                      significant(profile.peak->f32_gflops, 3), profile.peak->isa);
  if (!profile.peak->bandwidth.empty()) {
    const Bandwidth& slowest = profile.peak->bandwidth.back();
    text += fmt::format(", {} {} GB/s (read)", slowest.level, significant(slowest.read_gbs, 3));
  }
  return text;
}

std::string library_text(const Blas& blas) {
  if (!is_known(blas.provider)) return "none could be loaded";
  std::string text(to_text(blas.provider));
  text += blas.version.empty() ? ", version unknown" : " " + blas.version;
  text += blas.core.empty() ? ", no core type" : ", core type " + blas.core;
  text += blas.threads ? ", " + counted(static_cast<std::uint64_t>(*blas.threads), "thread")
                       : ", number of threads unknown";
  if (!blas.threading.empty()) text += " (" + blas.threading + ")";
  if (!blas.behind.empty()) text += ", which hands its work to " + blas.behind;
  return text;
}

std::string verdict_text(const Verdict& blas) {
  std::string text(to_text(blas.verdict));
  if (loses_surely(blas)) text += fmt::format(", factor {}", significant(*blas.factor, 2));
  return blas.why.empty() ? text : text + ": " + blas.why;
}

// Core type and, where its name does not say it, how it was chosen.
std::string rung_name(const LadderRung& rung) {
  if (rung.core.empty()) return rung.setting;
  const bool chosen_by_name = !rung.as_found && rung.setting != "auto";
  return chosen_by_name ? rung.core : fmt::format("{} ({})", rung.core, rung.setting);
}

std::string library_cell(const LadderRung& rung) {
  if (rung.own)
    return fmt::format("hwprof's own {}{} (not installed)", to_text(rung.provider),
                       rung.version.empty() ? "" : " " + rung.version);
  const auto slash = rung.library.rfind('/');
  return fmt::format("{} {}", to_text(rung.provider),
                     slash == std::string::npos ? rung.library : rung.library.substr(slash + 1));
}

}  // namespace

void Reasons::add(const std::string& reason, const std::string& who) {
  auto at = std::find_if(list_.begin(), list_.end(),
                         [&](const auto& entry) { return entry.first == reason; });
  if (at == list_.end()) at = list_.insert(list_.end(), {reason, {}});
  auto& names = at->second;
  if (std::find(names.begin(), names.end(), who) == names.end()) names.push_back(who);
}

std::vector<std::string> Reasons::sentences() const {
  std::vector<std::string> out;
  for (const auto& [reason, names] : list_)
    out.push_back(fmt::format("{}: {}", fmt::join(names, ", "), reason));
  return out;
}

std::string file_name(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string in_percent(double fraction) { return significant(fraction * 100, 3); }

std::string time_cell(const std::optional<TimeNs>& time) {
  if (!time) return std::string(kAbsent);
  if (!time->ci95_low || !time->ci95_high) return duration(time->median);
  return duration_with_interval(time->median, *time->ci95_low, *time->ci95_high);
}

std::string work_cell(const Row& row) {
  if (!row.cpu_time_ns) return time_cell(row.time_ns);
  const CpuTimeNs& time = *row.cpu_time_ns;
  if (!time.ci95_low || !time.ci95_high) return duration(time.median);
  return duration_with_interval(time.median, *time.ci95_low, *time.ci95_high);
}

std::string upper(std::string_view of) {
  std::string text(of);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string verdict_heading(VerdictKind verdict) {
  if (verdict == VerdictKind::kWrongResults) return "WRONG RESULTS";
  if (verdict == VerdictKind::kMissing) return "NO BLAS";
  const std::string word(to_text(verdict));
  return "BLAS " + (verdict == VerdictKind::kOptimal ? word : upper(word));
}

// Closes a sentence that came from elsewhere and may or may not have its full stop.
std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) {
    text += '.';
  }
  return text;
}

std::string cpus_in_words(const CpuList& cpus) {
  return fmt::format("{} {}", cpus.size() == 1 ? "CPU" : "CPUs", format_cpu_list(cpus));
}

std::string machine_text(const Machine& machine) {
  std::vector<std::string> parts = {machine.cpu_name.empty() ? "unknown CPU" : machine.cpu_name};
  std::string topology;
  if (machine.cores > 0) topology = counted(machine.cores, "core") + ", ";
  if (machine.cpus > 0) topology += counted(machine.cpus, "CPU");
  if (machine.packages > 0) topology += " in " + counted(machine.packages, "package");
  if (!topology.empty()) parts.push_back(topology);
  if (machine.memory_bytes > 0) {
    parts.push_back(binary_bytes(static_cast<double>(machine.memory_bytes)) + " memory");
  }
  if (machine.virtualized) {
    parts.push_back(machine.hypervisor.empty() ? "virtual"
                                               : fmt::format("virtual ({})", machine.hypervisor));
  }
  parts.push_back(fmt::format("Linux {} {}", machine.kernel, machine.arch));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string pmu_text(const Machine& machine) {
  const PmuInfo& pmu = machine.pmu;
  std::string text;
  if (pmu.present()) {
    std::vector<std::string> names;
    for (const PmuDevice& device : pmu.devices) {
      names.push_back(fmt::format("{} (type {})", device.name, device.type));
    }
    text = fmt::format("{}, {}", fmt::join(names, ", "),
                       pmu.counters ? counted(*pmu.counters, "general counter")
                                    : "number of counters unknown: " + pmu.reason);
  } else {
    text = "no PMU: " + pmu.reason;
  }
  text += machine.perf_event_paranoid
              ? fmt::format("; perf_event_paranoid {}", *machine.perf_event_paranoid)
              : "; the kernel has no perf_event";
  if (machine.nmi_watchdog) {
    text +=
        *machine.nmi_watchdog ? "; NMI watchdog on (it holds one counter)" : "; NMI watchdog off";
  }
  return text;
}

std::string run_line(const Profile& profile) {
  return fmt::format("hwprof {}, started {}, took {} s", profile.version, profile.started_utc,
                     significant(profile.elapsed_s, 3));
}

std::vector<Field> machine_fields(const Profile& profile) {
  const auto& peak = profile.peak;
  const std::string no_peak = "not measured: " + given(profile.peak_reason);
  return {{"Machine", machine_text(profile.machine)},
          {"Caches", caches_text(profile.machine)},
          {"Counters", pmu_text(profile.machine)},
          {"Pinned", pin_text(profile)},
          {"FMA peak", peak ? peak_text(*peak) : no_peak},
          {"Bandwidth", peak ? bandwidth_text(*peak) : no_peak}};
}

std::vector<Field> blas_fields(const ProfileBlas& blas) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : blas.environment) {
    environment.push_back(fmt::format("{}={}", name, value.empty() ? "\"\"" : value));
  }
  std::vector<Field> fields = {{"Library", library_text(blas)}};
  if (!blas.path.empty()) {
    fields.push_back(
        {"Path", blas.requested.empty() || blas.requested == blas.path
                     ? blas.path
                     : fmt::format("{} (asked for as {})", blas.path, blas.requested)});
  }
  fields.push_back({"Environment", environment.empty()
                                       ? "no variable that shapes a BLAS is set"
                                       : fmt::format("{}", fmt::join(environment, ", "))});
  fields.push_back({"Verdict", verdict_text(blas)});
  if (!blas.fix.empty()) fields.push_back({"Fix", blas.fix});
  return fields;
}

std::vector<Field> brief_machine(const Profile& profile) {
  return {{"Machine", machine_text(profile.machine)}, {"Ran on", place_text(profile)}};
}

Field brief_blas(const ProfileBlas& blas) {
  Field field{"BLAS", library_text(blas), {verdict_text(blas)}};
  const std::string ladder = ladder_text(blas.ladder);
  if (!ladder.empty() && blas.verdict != VerdictKind::kOptimal) field.more.push_back(ladder);
  return field;
}

Fields warnings_of(const std::vector<Warning>& warnings) {
  Fields fields{.title = "Warnings", .good = false};
  for (const Warning& warning : warnings) fields.rows.push_back({warning.code, warning.text});
  return fields;
}

Paragraph partial_remark() {
  return {"PARTIAL: interrupted; only what was measured until then is shown.",
          Paragraph::Kind::kAlert};
}

void add_ladder_chart(const JudgedBlas& blas, Document& document) {
  if (!blas.ladder.empty())
    document.in(Section::kLadder)
        .add(Chart{"ladder", "The same product by each core type, as a share of the FMA peak"});
}

bool is_one_timeline(const std::optional<Regions>& regions, const Called& called) {
  return regions && regions->trace && regions->trace->spans_begin_ns && called.spans_begin_ns;
}

void add_region_charts(const std::optional<Regions>& regions, Document& document, bool with_calls) {
  if (!regions) return;
  document.in(Section::kRegions).add(Chart{"regions", "Time of the regions, nested as they are"});
  if (regions->trace && !regions->trace->spans.empty())
    document.add(
        Chart{"timeline", fmt::format("Calls of regions over time, a lane a thread{}",
                                      with_calls ? ", with calls of a BLAS in them" : "")});
}

std::string ladder_text(const std::vector<LadderRung>& ladder) {
  std::vector<std::string> rungs;
  for (const LadderRung& rung : ladder) {
    if (!rung.gflops || !rung.peak_fraction || !(rungs.empty() || rung.as_found)) continue;
    rungs.push_back(fmt::format("{} {} GFLOP/s, {} % of the FMA peak", rung_name(rung),
                                significant(*rung.gflops, 3), in_percent(*rung.peak_fraction)));
  }
  return fmt::format("{}", fmt::join(rungs, "; "));
}

Table ladder_table(const JudgedBlas& blas, std::string_view at) {
  Table table{.title = "Ladder: the same sgemm on each rung, highest share of the peak first",
              .columns = {{"core type", true},
                          {"GFLOP/s"},
                          {"% of\nFMA peak"},
                          {"vectors", true},
                          {"library", true}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  for (const LadderRung& rung : blas.ladder) {
    if (!rung.gflops || !rung.peak_fraction) {
      reasons.add(given(rung.reason), rung_name(rung));
    }
    table.rows.push_back(
        {"",
         {rung_name(rung), rung.gflops ? significant(*rung.gflops, 3) : std::string(kAbsent),
          rung.peak_fraction ? in_percent(*rung.peak_fraction) : std::string(kAbsent),
          rung.vector_class == VectorClass::kNone ? std::string(kAbsent)
                                                  : std::string(to_text(rung.vector_class)),
          library_cell(rung)},
         fmt::format("{}/ladder/{}", at, table.rows.size())});
  }
  if (!blas.ladder_note.empty()) table.notes.push_back(blas.ladder_note);
  append(table.notes, reasons.sentences());
  table.brief = reasons.sentences();
  if (!blas.own && !blas.own_reason.empty())
    table.notes.push_back("hwprof's own OpenBLAS was not measured: " + blas.own_reason);
  return table;
}

}  // namespace hwprof::report
