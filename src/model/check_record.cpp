#include "src/model/check_record.h"

#include <algorithm>

namespace hwprof::model {
namespace {

using report::VerdictKind;

// From here on the ladder's CPU times are those of caches that others use.
constexpr double kBusy = 0.3;

std::string why_unknown(VerdictKind verdict, const std::string& why) {
  return "the verdict is " + std::string(name_of(verdict)) + (why.empty() ? "" : ": " + why);
}

// By its build, whatever was measured.
bool leaves_cpus_idle(const Check& check) {
  return check.blas.threading == "single-threaded" && check.machine.cpus > 1;
}

}  // namespace

Outcome outcome_of(VerdictKind verdict) {
  switch (verdict) {
    case VerdictKind::kOptimal:
      return Outcome::kPass;
    case VerdictKind::kSuboptimal:
    case VerdictKind::kUnoptimised:
    case VerdictKind::kWrongResults:
    case VerdictKind::kMissing:
      return Outcome::kFail;
    default:
      return Outcome::kUnknown;
  }
}

int exit_code(Outcome outcome) {
  if (outcome == Outcome::kPass) return 0;
  return outcome == Outcome::kFail ? 1 : 3;
}

void conclude(Check& check) {
  const report::ProfileBlas& blas = check.blas;
  check.outcome = outcome_of(blas.verdict);
  check.reason.clear();
  if (check.outcome != Outcome::kPass) check.reason = why_unknown(blas.verdict, blas.why);
  if (blas.verdict == VerdictKind::kSuboptimal && !leaves_cpus_idle(check) &&
      check.busy_fraction.value_or(0) >= kBusy) {
    check.outcome = Outcome::kUnknown;
    check.reason += "; other programs were busy meanwhile, so that this is no failure";
  }
  check.gflops = check.peak_fraction = check.peak_gflops = std::nullopt;
  check.gflops_reason = blas.ladder.empty() ? blas.why : "";
  for (const report::LadderRung& rung : blas.ladder) {
    if (!rung.as_found) continue;
    check.gflops = rung.gflops;
    check.peak_fraction = rung.peak_fraction;
    check.gflops_reason = rung.gflops ? "" : rung.reason;
    // The ladder gives all rungs their GFLOP/s at one peak.
    if (rung.gflops && rung.peak_fraction && *rung.peak_fraction > 0)
      check.peak_gflops = *rung.gflops / *rung.peak_fraction;
  }
  if (!check.gflops && check.gflops_reason.empty())
    check.gflops_reason = "what programs get was not among what could be measured in time";
}

template <>
const Record& record<Check>() {
  static constexpr Field kFields[] = {
      field<&Check::version>("hwprof.version", "", "of hwprof"),
      field<&Check::run_id>("run_id", "", "`--run-id`").null_if_empty(),
      field<&Check::host>("host", "", "its name, or `--host`"),
      field<&Check::boot_id>("boot_id", "", "of the kernel, another one after each boot")
          .null_if_empty(),
      field<&Check::boot_id_reason>("boot_id_reason", "", "why it is absent").null_if_empty(),
      field<&Check::started_utc>("started_utc", "", "by the host's own clock"),
      field<&Check::ended_utc>("ended_utc", "", ""),
      field<&Check::elapsed_s>("elapsed_s", "s", "by a clock that nobody sets"),
      field<&Check::quick>("quick", "", "`--quick`"),
      field<&Check::outcome>("outcome", "", ""),
      field<&Check::reason>("reason", "", "why it is no pass").null_if_empty(),
      field<&Check::gflops>("gflops", "GFLOP/s",
                            "sgemm on one core, as programs get it; null: `gflops_reason`"),
      field<&Check::peak_fraction>("peak_fraction", "", "the same, of the FMA peak"),
      field<&Check::peak_gflops>("peak_gflops", "GFLOP/s",
                                 "the FMA peak of that core, measured beside it"),
      field<&Check::gflops_reason>("gflops_reason", "", "why these are absent").null_if_empty(),
      field<&Check::busy_fraction>(
          "busy_fraction", "",
          "CPU time of other programs and guests meanwhile, of all CPUs that hwprof may use; null: "
          "the kernel does not tell"),
      field<&Check::machine, &Machine::cpu_name>("cpu", "", "the CPU's name"),
      field<&Check::cpu_id>("cpu_id", "", "vendor, family, model and stepping").null_if_empty(),
      field<&Check::microcode>("microcode", "", "as the kernel has it").null_if_empty(),
      field<&Check::microcode_reason>("microcode_reason", "", "why it is absent").null_if_empty(),
      field<&Check::machine, &Machine::kernel>("kernel", "", "`uname -r`"),
      field<&Check::machine, &Machine::arch>("arch", "", "`uname -m`"),
      field<&Check::machine, &Machine::isa>("isa", "", ""),
      field<&Check::machine, &Machine::cpus>("cpus", "", "of the machine"),
      field<&Check::machine, &Machine::virtualized>("virtualized", "", ""),
      field<&Check::blas>("blas", "",
                          "the library, its core type, and whether its results are right; "
                          "`results.bits` can be compared between hosts of one CPU type"),
  };
  static constexpr Record kRecord{"Check", "What one host's BLAS is worth, a file a host.", kFields,
                                  "hwprof.check/1"};
  return kRecord;
}

}  // namespace hwprof::model
