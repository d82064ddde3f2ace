// What `hwprof check` found on one host: a record that an administrator collects from each of many,
// and that is held against those of the others.
#pragma once

#include <optional>
#include <string>

#include "src/model/record.h"

namespace hwprof::model {

// What follows from a verdict for a host. A host is taken out of service for kFail alone, so that
// nothing but a BLAS known to be bad leads there.
enum class Outcome { kPass, kFail, kUnknown };

template <>
struct EnumNames<Outcome> {
  static constexpr EnumName<Outcome> kAll[] = {
      {Outcome::kPass, "pass", "the BLAS is optimal: exit code 0"},
      {Outcome::kFail, "fail", "the BLAS is bad, for sure: exit code 1"},
      {Outcome::kUnknown, "unknown", "it cannot be told: exit code 3"},
  };
};

struct Check {
  std::string version;  // of hwprof
  std::string run_id;   // "" where no record was asked for
  std::string host;
  std::string boot_id, boot_id_reason;
  std::string started_utc, ended_utc;
  double elapsed_s = 0;
  bool quick = false;
  Outcome outcome = Outcome::kUnknown;
  std::string reason;                                        // of what is no pass
  std::optional<double> gflops, peak_fraction, peak_gflops;  // sgemm as programs get it; one core
  std::string gflops_reason;                                 // why they are absent
  std::optional<double> busy_fraction;                       // of its CPUs, by others meanwhile
  Machine machine;
  std::string cpu_id;  // "amd/26/2", with the stepping: "amd/26/2/1"
  std::string microcode, microcode_reason;
  ProfileBlas blas;
};

// Of the verdict alone: only what is bad on any program is a failure. `not-called`,
// `other-library` and `overhead-bound` are true of a program, not of its BLAS.
Outcome outcome_of(report::VerdictKind verdict);
// 0, 1 and 3
int exit_code(Outcome outcome);

// Fills outcome, reason, rates and the peak from `blas` and `busy_fraction`. On a machine that is
// busy with other work, mere speed is no failure: vectors, results, CPUs that the library leaves
// idle and what is missing are.
void conclude(Check& check);

template <>
const Record& record<Check>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Check, model::Outcome;
}  // namespace hwprof::report
