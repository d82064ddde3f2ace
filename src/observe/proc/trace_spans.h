// The calls of a trace (counters/regions, in Chrome's trace event format) as spans that a page can
// draw: the longest, since a page with a million marks shows no more than one with thousands.
#pragma once

#include <optional>
#include <string>

#include "src/model/blas.h"
#include "src/model/regions_record.h"

namespace hwprof::observe {

inline constexpr std::size_t kMostSpans = 3000;  // of a page's timeline

// Fills `spans` and `spans_note`; neither where the text is no trace. It may be anything: a program
// of another user wrote it.
void add_spans(const std::string& trace_json, report::RegionTrace& to);

// The trace with the calls of a BLAS in it, each as a slice of its thread with the region and the
// lines that it came from. Nothing: there is no such call, or it is no trace.
std::optional<std::string> with_calls(const std::string& trace_json, const report::Called& called);

}  // namespace hwprof::observe
