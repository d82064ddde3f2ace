#include "src/measure/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"

namespace hwprof {
namespace {

using report::Complexity;
using report::ForwardPass;
using report::PassVariants;
using report::Row;

// The layers of one operation in one pass, added up over the filter sizes.
struct OpSum {
  std::string op;
  double cost_units = 0, roofline_ns = 0, time_ns = 0;
};

bool in_pass(const Row& row, const ForwardPass& pass) {
  return std::any_of(pass.variants.begin(), pass.variants.end(), [&row](const auto& pair) {
    return pair.first == row.op && pair.second == row.variant;
  });
}

std::vector<OpSum> sum_by_op(const std::vector<Row>& rows, const ForwardPass& pass) {
  std::vector<OpSum> sums;
  for (const auto& [op, variant] : pass.variants) {
    OpSum& sum = sums.emplace_back();
    sum.op = op;
    for (const Row& row : rows) {
      if (row.op != op || row.variant != variant) continue;
      sum.cost_units += row.model.cost_units;
      sum.roofline_ns += *row.roofline_ns;
      sum.time_ns += work_ns(row);
    }
  }
  return sums;
}

// " (k=2)" where the operation has several layers.
std::string shape_suffix(const Row& row, const std::vector<Row>& rows) {
  const auto same = std::count_if(rows.begin(), rows.end(), [&row](const Row& other) {
    return other.op == row.op && other.variant == row.variant;
  });
  return same > 1 ? fmt::format(" ({}={})", row.shape.front().first, row.shape.front().second) : "";
}

bool has_interval_of(const Row& row) {
  return row.cpu_time_ns ? row.cpu_time_ns->ci95_low.has_value()
                         : row.time_ns->ci95_low.has_value();
}

}  // namespace

Interval run_interval_ns(const Row& row) {
  std::vector<double> ns;
  if (row.cpu_time_ns) {
    ns = row.cpu_time_ns->slices;
  } else {
    for (const report::Slice& slice : row.time_ns->slices) ns.push_back(slice.ns);
  }
  if (has_interval_of(row) && !ns.empty()) return median_interval(ns);
  const auto [low, high] = work_interval_ns(row);
  return {low, high};
}

std::string wide_rows_text(const std::vector<Row>& rows, const std::string& shortage) {
  constexpr double kZ = 1.96;  // what runs differ by has no degrees of freedom of its own
  std::size_t measured = 0, wide = 0;
  for (const Row& row : rows) {
    if (!row.time_ns) continue;
    ++measured;
    wide += has_interval_of(row) &&
            relative_half_width(run_interval_ns(row), work_ns(row)) > kZ * between_runs(row.bound);
  }
  if (wide == 0) return "";
  return fmt::format(
      "of {} measured rows, {} {} within this run by more than such runs differ by anyway: the "
      "machine is noisy or {}",
      measured, wide, wide == 1 ? "varies" : "vary", shortage);
}

namespace {

// Time over ceiling.
struct Distance {
  double middle = 0, low = 0, high = 0;
  double least = 0;  // of the fastest call
};

Distance distance_of(const Row& row) {
  const auto [low_ns, high_ns] = run_interval_ns(row);
  const double ceiling = *row.roofline_ns;
  return {work_ns(row) / ceiling, low_ns / ceiling, high_ns / ceiling, least_ns(row) / ceiling};
}

// Cost units are multiply-adds, which are two FLOP, and comparisons, whichever the analysis counts.
bool counts_its_work(const Cost& model) {
  const double operations = model.flops / 2 + model.comparisons;
  return operations <= kRooflineFactor * model.cost_units &&
         model.cost_units <= kRooflineFactor * operations;
}

// What the layers of the pass say against the analysis, and what they leave open.
struct Objections {
  std::vector<std::string> findings, open;
};

void judge_layer(const Row& row, const std::string& name, Objections& said) {
  if (!counts_its_work(row.model)) {
    said.findings.push_back(fmt::format(
        "{}: {} cost units, but its model counts {} FLOP and {} comparisons: one of them lacks a "
        "factor",
        name, report::si(row.model.cost_units, ""), report::si(row.model.flops, ""),
        report::si(row.model.comparisons, "")));
  }
  const Distance distance = distance_of(row);
  if (distance.low > kRooflineFactor && distance.least <= kRooflineFactor) {
    said.open.push_back(
        fmt::format("{} takes {:.3g} times the time of its ceiling, its fastest call {:.3g} times: "
                    "other programs use caches and memory too",
                    name, distance.middle, distance.least));
  } else if (distance.low > kRooflineFactor) {
    said.findings.push_back(
        fmt::format("{} takes {:.3g} times the time of its ceiling", name, distance.middle));
  } else if (distance.high < 1 / kRooflineFactor) {
    said.open.push_back(fmt::format(
        "{} takes {:.2g} of the time of its ceiling: no kernel can, the ceiling is too low", name,
        distance.middle));
  } else if (distance.high > kRooflineFactor || distance.low < 1 / kRooflineFactor) {
    said.open.push_back(fmt::format(
        "{} takes {:.3g} times the time of its ceiling, by its interval {:.3g} to {:.3g}: on both "
        "sides of {}, the limit",
        name, distance.middle, distance.low, distance.high,
        distance.high > kRooflineFactor ? fmt::format("{:.0f}", kRooflineFactor)
                                        : fmt::format("1/{:.0f}", kRooflineFactor)));
  }
}

Objections objections_to(const std::vector<Row>& rows, const ForwardPass& pass) {
  Objections said;
  for (const Row& row : rows) {
    if (!in_pass(row, pass)) continue;
    judge_layer(row, fmt::format("{} {}{}", row.op, row.variant, shape_suffix(row, rows)), said);
  }
  return said;
}

std::vector<report::FarVariant> far_from_ceiling(const std::vector<Row>& rows) {
  std::vector<report::FarVariant> far;
  for (const Row& row : rows) {
    if (!row.optimised || !row.time_ns || !row.roofline_ns) continue;
    const Distance distance = distance_of(row);
    if (distance.middle <= kRooflineFactor) continue;
    far.push_back({.op = row.op,
                   .variant = row.variant,
                   .shape = row.shape,
                   .time_ns = work_ns(row),
                   .factor = distance.middle,
                   .causes = {}});
  }
  return far;
}

// "97.1 : 2.0 : 0.9 %"
std::string shares_text(const std::vector<OpSum>& sums, double OpSum::*part) {
  double all = 0;
  for (const OpSum& sum : sums) all += sum.*part;
  std::string text;
  for (const OpSum& sum : sums) {
    text += fmt::format("{}{:.1f}", text.empty() ? "" : " : ", 100 * sum.*part / all);
  }
  return text + " %";
}

// A pass that fuses layers cannot say how the time splits over them.
const ForwardPass& fastest_apart(const std::vector<ForwardPass>& passes) {
  return *std::min_element(passes.begin(), passes.end(),
                           [](const ForwardPass& a, const ForwardPass& b) {
                             if (a.variants.size() != b.variants.size())
                               return a.variants.size() > b.variants.size();
                             return a.time_ns < b.time_ns;
                           });
}

}  // namespace

std::vector<ForwardPass> forward_passes(const std::vector<Row>& rows,
                                        const std::vector<PassVariants>& passes) {
  std::vector<ForwardPass> measured;
  for (const PassVariants& variants : passes) {
    ForwardPass pass;
    static_cast<PassVariants&>(pass) = variants;
    bool complete = true;
    double low_ns = 0, high_ns = 0;
    bool has_interval = true;
    for (const auto& [op, variant] : pass.variants) {
      std::size_t layers = 0;
      for (const Row& row : rows) {
        if (row.op != op || row.variant != variant) continue;
        ++layers;
        complete = complete && row.time_ns && row.roofline_ns;
        if (!row.time_ns) continue;
        pass.time_ns += work_ns(row);
        has_interval = has_interval && has_interval_of(row);
        const auto [row_low_ns, row_high_ns] = run_interval_ns(row);
        low_ns += row_low_ns;
        high_ns += row_high_ns;
      }
      complete = complete && layers > 0;
    }
    if (has_interval) pass.low_ns = low_ns, pass.high_ns = high_ns;
    if (complete) measured.push_back(std::move(pass));
  }
  return measured;
}

void set_forward_shares(std::vector<Row>& rows, const std::vector<ForwardPass>& passes) {
  for (Row& row : rows) {
    for (const ForwardPass& pass : passes) {
      if (!row.time_ns || !in_pass(row, pass)) continue;
      // The pass that bears the variant's own name, else the first that contains it.
      if (row.pass.empty() || pass.name == row.variant) {
        row.pass = pass.name;
        row.forward_share = work_ns(row) / pass.time_ns;
      }
    }
  }
}

Complexity complexity_agreement(const std::vector<Row>& rows,
                                const std::vector<ForwardPass>& passes) {
  Complexity result;
  result.far = far_from_ceiling(rows);
  if (passes.empty()) {
    result.text = "not judged: no forward pass was measured in all its layers";
    return result;
  }
  const ForwardPass& pass = fastest_apart(passes);
  const std::vector<OpSum> sums = sum_by_op(rows, pass);
  OpSum all;
  for (const OpSum& sum : sums) {
    all.cost_units += sum.cost_units;
    all.roofline_ns += sum.roofline_ns;
    all.time_ns += sum.time_ns;
  }
  result.pass = pass.name;
  std::string ops;
  for (const OpSum& sum : sums) {
    result.rows.push_back({.op = sum.op,
                           .cost_units = sum.cost_units,
                           .model_share = sum.cost_units / all.cost_units,
                           .roofline_share = sum.roofline_ns / all.roofline_ns,
                           .time_share = sum.time_ns / all.time_ns,
                           .ceiling_factor = sum.time_ns / sum.roofline_ns});
    ops += (ops.empty() ? "" : " : ") + sum.op;
  }
  Objections said = objections_to(rows, pass);
  if (!said.findings.empty()) {
    result.agrees = false;
  } else if (said.open.empty()) {
    result.agrees = true;
  }
  result.findings = std::move(said.findings);
  result.findings.insert(result.findings.end(), said.open.begin(), said.open.end());
  const std::string shares =
      fmt::format("{} take {} of pass {}; by cost units {}, by the roofline {}", ops,
                  shares_text(sums, &OpSum::time_ns), pass.name,
                  shares_text(sums, &OpSum::cost_units), shares_text(sums, &OpSum::roofline_ns));
  result.text = !result.agrees ? fmt::format("not judged: {}; {}", result.findings.front(), shares)
                : *result.agrees
                    ? fmt::format(
                          "the time agrees with the complexity analysis: each layer is within a "
                          "factor of {:.0f} of its ceiling; {}",
                          kRooflineFactor, shares)
                    : fmt::format("the time does not agree with the complexity analysis: {}; {}",
                                  result.findings.front(), shares);
  return result;
}

std::vector<std::string> causes_of(const report::FarVariant& variant, const CauseTimes& times) {
  constexpr double kLeastShare = 0.1, kWorthSayingFactor = 1.5;
  std::vector<std::string> causes;
  if (times.blas_factor >= kWorthSayingFactor) {
    causes.push_back(
        fmt::format("the BLAS, which could be {:.3g} times faster (ladder)", times.blas_factor));
  }
  const auto part = [&](double ns, const char* what) {
    const double share = ns / variant.time_ns;
    if (share < kLeastShare) return;
    causes.push_back(fmt::format("{}, {} timed alone: {:.0f} % of the time", what,
                                 report::duration(ns), 100 * std::min(1.0, share)));
  };
  part(times.copy_ns, "the copy of im2col");
  part(times.call_ns, "the fixed cost of its calls");
  return causes;
}

}  // namespace hwprof
