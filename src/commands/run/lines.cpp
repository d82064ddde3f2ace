#include "src/commands/run/lines.h"

#include <utility>

#include "src/blas/evidence/cores_in_calls.h"
#include "src/blas/evidence/lines.h"
#include "src/observe/python/source_text.h"

namespace hwprof {

void add_lines(const observe::SampleProfile& profile, const std::vector<observe::CallKind>& kinds,
               report::Run& record) {
  if (!profile.by_line) return;
  blas::Lines found = blas::lines_of(*profile.by_line, kinds, profile.hz, record.blas.evidence);
  blas::add_cores(*profile.by_line, kinds, profile.hz, record.blas.evidence.called);
  observe::SourceTexts sources;
  for (report::LineUse& line : found.lines) line.source = sources.line(line.file, line.line);
  record.lines = std::move(found.lines);
  record.lines_known = std::move(found.known);
  record.lines_known->user_mode = !profile.kernel;
}

}  // namespace hwprof
