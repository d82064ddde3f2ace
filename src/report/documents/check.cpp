#include "src/report/documents/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

std::string rate_word(const std::optional<double>& value) {
  return value ? significant(*value, 3) : std::string(kAbsent);
}

// A reader splits the line at blanks.
std::string one_word(std::string_view text) {
  std::string word = printable(text);
  std::replace(word.begin(), word.end(), ' ', '_');
  return word.empty() ? std::string(kAbsent) : word;
}

std::string absent(const std::string& reason) {
  return fmt::format("{} ({})", kAbsent, given(reason));
}

std::string or_reason(const std::string& text, const std::string& reason) {
  return text.empty() ? absent(reason) : text;
}

Headline headline(const Check& check) {
  const std::string& why = check.reason.empty() ? check.blas.why : check.reason;
  return {
      .text = fmt::format("{}{}{}", model::name_of(check.outcome), why.empty() ? "" : ": ", why),
      .good = check.outcome == Outcome::kPass,
      .fix = check.blas.fix,
      .judged = check.outcome != Outcome::kUnknown};
}

std::string sgemm_text(const Check& check) {
  if (!check.gflops) return absent(check.gflops_reason);
  std::string text = fmt::format("{} GFLOP/s on one core", significant(*check.gflops, 3));
  if (check.peak_fraction)
    text += fmt::format(", {} of the FMA peak", percent(*check.peak_fraction));
  if (check.peak_gflops) text += fmt::format(", {} GFLOP/s", significant(*check.peak_gflops, 3));
  return text;
}

std::string results_text(const Results& results) {
  if (!results.right) return absent("they were not checked");
  const std::string bits = results.bits.empty() ? "" : ", bits " + results.bits;
  return (*results.right ? "right" : "WRONG: " + results.wrong) + bits;
}

Fields check_fields(const Check& check) {
  return {.title = "Check",
          .rows = {{"sgemm", sgemm_text(check)},
                   {"Results", results_text(check.blas.results)},
                   {"Others", check.busy_fraction
                                  ? percent(*check.busy_fraction) + " of the CPUs' time meanwhile"
                                  : absent("the kernel does not tell")},
                   {"Run", or_reason(check.run_id, "no record was asked for")},
                   {"Taken", fmt::format("{} to {}, {} s{}, by hwprof {}", check.started_utc,
                                         check.ended_utc, significant(check.elapsed_s, 3),
                                         check.quick ? " (--quick)" : "", check.version)}}};
}

Fields host_fields(const Check& check) {
  return {.title = "Host",
          .rows = {{"Name", check.host},
                   {"Machine", machine_text(check.machine)},
                   {"CPU", or_reason(check.cpu_id, "it was not recorded")},
                   {"Microcode", or_reason(check.microcode, check.microcode_reason)},
                   {"Boot", or_reason(check.boot_id, check.boot_id_reason)}}};
}

}  // namespace

std::string check_line(const Check& check) {
  return fmt::format(
      "verdict={} gflops={} peak_fraction={} factor={} outcome={} provider={} core={}",
      to_text(check.blas.verdict), rate_word(check.gflops), rate_word(check.peak_fraction),
      rate_word(check.blas.factor), model::name_of(check.outcome),
      one_word(to_text(check.blas.provider)), one_word(check.blas.core));
}

Document check_document(const Check& check) {
  Document document{.title = "hwprof check: " + check.host};
  document.add(Paragraph{check_line(check), Paragraph::Kind::kLine});
  document.add(headline(check));
  document.in(Section::kChecks).add(check_fields(check));
  document.add(Fields{.title = "BLAS", .rows = blas_fields(check.blas)});
  add_ladder_chart(check.blas, document);
  document.in(Section::kLadder).add(ladder_table(check.blas));
  document.in(Section::kMachine).add(host_fields(check));
  return document;
}

}  // namespace hwprof::report
