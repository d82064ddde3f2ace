#include "src/commands/check/required.h"

#include <fmt/format.h>

#include "src/commands/check/host_facts.h"
#include "src/model/check_record.h"
#include "src/report/documents/documents.h"

namespace hwprof {
namespace {

constexpr int kNotToldExit = 3, kCommandExit = 4;

std::string reason_of(const report::Run& run) {
  if (!run.not_run.empty()) return run.not_run;
  if (run.exit != 0) return fmt::format("the command's exit code is {}", run.exit);
  if (run.blas.fix.empty()) return run.blas.why;
  return fmt::format("{}; fix: {}", run.blas.why, run.blas.fix);
}

}  // namespace

int required_exit(const report::Run& run) {
  if (!run.not_run.empty()) return kNotToldExit;
  if (run.exit != 0) return kCommandExit;
  return model::exit_code(model::outcome_of(run.blas.verdict));
}

report::Document required_line(const report::Run& run) {
  const bool ran = run.not_run.empty();
  report::Document document{.title = "hwprof check"};
  document.add(report::Paragraph{
      fmt::format("host={} exit={} verdict={} reason={}", this_host().value_or("-"),
                  required_exit(run), ran ? to_text(run.blas.verdict) : "-", reason_of(run)),
      report::Paragraph::Kind::kLine});
  return document;
}

report::Document required_verdict(const report::Run& run) {
  report::Document document = required_line(run);
  if (!run.not_run.empty()) return document;
  for (report::Block& block : report::verdict_document(run).blocks)
    document.blocks.push_back(std::move(block));
  return document;
}

}  // namespace hwprof
