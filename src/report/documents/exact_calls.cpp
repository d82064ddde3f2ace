// What `run --exact` counted of a program: a line a call, then the functions that executed it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/exact_cells.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostExactRows = 12;  // in lines of text
constexpr std::size_t kMostExactLines = 3;  // calls at the head of the report

std::string shape_text(const ExactCall& call) {
  if (!call.m || !call.n || !call.k) return std::string(kAbsent);
  const std::string shape = fmt::format("{}x{}x{}", *call.m, *call.n, *call.k);
  return call.form.empty() ? shape : fmt::format("{} ({})", shape, call.form);
}

// "cblas_sgemm, call 1, 128x128x128: executed 4229056 FLOP, 1.008 times the 4194304 of its
// operation. sgemm_kernel_HASWELL: 99.2 % of the FLOP, 100 % of these at 256 bit."
Headline headline_of(const ExactCall& call) {
  if (!call.count)
    return {.text = sentence(label_of(call) + ": " + given(call.reason)), .good = false};
  std::string text = label_of(call);
  if (call.m) text += ", " + shape_text(call);
  text += fmt::format(": executed {} FLOP", call.count->flops);
  if (call.model_flops && call.to_model)
    text +=
        fmt::format(", {} times the {:.0f} {}", exact_ratio_text(*call.to_model), *call.model_flops,
                    call.region.empty() ? "of its operation" : "that the program declares");
  if (const auto hotspot = hotspot_of(*call.count))
    text += fmt::format(". {}: {} of the FLOP, {} of these {}",
                        exact_function_cell(hotspot->function->name),
                        exact_share_text(hotspot->function->flops, call.count->flops),
                        exact_share_text(hotspot->function->flops_by_width.at(hotspot->width),
                                         hotspot->function->flops),
                        hotspot->width == "scalar" ? "scalar" : "at " + hotspot->width + " bit");
  return {.text = sentence(std::move(text)), .good = true};
}

}  // namespace

std::vector<Headline> exact_headlines(const Run& run) {
  std::vector<Headline> lines;
  for (const ExactCall& call : run.exact) {
    if (lines.size() == kMostExactLines) break;
    lines.push_back(headline_of(call));
  }
  if (!run.exact_reason.empty())
    lines.push_back({.text = sentence("Not counted exactly: " + run.exact_reason), .good = false});
  return lines;
}

Table exact_calls_table(const Run& run) {
  Table table{.title = "Executed in calls, counted exactly",
              .columns = {{"call", true},
                          {"shape", true},
                          {"FLOP"},
                          {"exact/\nmodel"},
                          {"instruc-\ntions"},
                          {"loaded"},
                          {"stored"},
                          {"FLOP by vector width", true},
                          {"library", true, true}},
              .rows = {},
              .notes = {},
              .most_rows = kMostExactRows};
  Reasons absent;
  for (const ExactCall& call : run.exact) {
    if (!call.count) {
      absent.add(given(call.reason), label_of(call));
      continue;
    }
    const ExactCount& count = *call.count;
    table.rows.push_back(
        {"",
         {label_of(call), shape_text(call), fmt::format("{}", count.flops),
          call.to_model ? exact_ratio_text(*call.to_model) : std::string(kAbsent),
          fmt::format("{}", count.instructions), si(static_cast<double>(count.bytes_loaded), "B"),
          si(static_cast<double>(count.bytes_stored), "B"),
          exact_widths_text(count.flops_by_width, count.flops), file_name(call.library)}});
  }
  if (!table.rows.empty())
    table.notes.emplace_back(
        "Each instruction of the calling thread from the routine's first to its return, or from "
        "the entry to a region to its end; the model is 2 m n k of a product, of a region the "
        "FLOP that it declares (docs/exact.md). Loaded, stored: by instructions.");
  append(table.notes, absent.sentences());
  if (!run.exact_reason.empty()) table.notes.push_back(sentence(run.exact_reason));
  return table;
}

Table exact_call_functions_table(const Run& run) {
  Table table{.title = "Executed in calls, by function",
              .columns = exact_function_columns(),
              .rows = {},
              .notes = {}};
  table.columns.insert(table.columns.begin(), {"call", true});
  for (const ExactCall& call : run.exact) {
    if (!call.count || table.rows.size() > 4 * kMostExactRows) continue;
    for (TableRow& row : exact_function_rows("", *call.count)) {
      row.cells.insert(row.cells.begin(), label_of(call));
      table.rows.push_back(std::move(row));
    }
  }
  if (!table.rows.empty())
    table.notes.push_back(std::string(kExactFunctionsNote) +
                          " Of a call that binds others for the first time, the loader's own.");
  return table;
}

}  // namespace hwprof::report
