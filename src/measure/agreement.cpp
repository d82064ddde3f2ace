#include "src/measure/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace hwprof {
namespace {

using report::Complexity;
using report::ForwardPass;
using report::PassVariants;
using report::Row;

// The layers of one operation in one pass, added up over the filter sizes.
struct OpSum {
  std::string op;
  double cost_units = 0, roofline_ns = 0;
  double time_ns = 0, low_ns = 0, high_ns = 0;
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
      const auto [low, high] = work_interval_ns(row);
      sum.low_ns += low;
      sum.high_ns += high;
    }
  }
  return sums;
}

// What in the way a variant works the model leaves out. Checked in this order; the first that
// applies is named.
std::string likely_cause(const Row& row, std::optional<double> blas_factor) {
  constexpr double kTinyNs = 2000;
  const bool blas = row.variant.rfind("blas-", 0) == 0;
  if (blas && blas_factor && *blas_factor > 1.5) {
    return fmt::format("the BLAS runs {:.1f} times slower than it could, see BLAS", *blas_factor);
  }
  if (work_ns(row) < kTinyNs) return "the fixed cost of a call outweighs so little work";
  if (row.variant == "blas-im2col") {
    return "im2col writes and reads every word k times before it multiplies";
  }
  if (row.variant == "blas-shifted") return "k small products, each with the fixed cost of a call";
  if (row.variant == "blas-gemv") {
    return "a product with one document at a time reads all weights for each and has the fixed "
           "cost of a call";
  }
  if (row.bound == report::Bound::kMemory) {
    return fmt::format("it moves more bytes than the model, or from beyond {}",
                       row.bandwidth_level);
  }
  return "too little work a call to fill the FMA pipes";
}

void find_order(const std::vector<OpSum>& sums, std::vector<std::string>& findings) {
  for (const OpSum& dear : sums) {
    for (const OpSum& cheap : sums) {
      if (dear.cost_units > cheap.cost_units && dear.high_ns < cheap.low_ns) {
        findings.push_back(fmt::format(
            "{} costs {:.3g} times the units of {} but takes {:.2f} of its time; by the roofline "
            "it should take {:.3g}",
            dear.op, dear.cost_units / cheap.cost_units, cheap.op, dear.time_ns / cheap.time_ns,
            dear.roofline_ns / cheap.roofline_ns));
      }
    }
  }
}

std::string shape_suffix(const Row& row, const std::vector<Row>& rows) {
  const auto same = std::count_if(rows.begin(), rows.end(), [&row](const Row& other) {
    return other.op == row.op && other.variant == row.variant;
  });
  return same > 1 ? fmt::format(" ({}={})", row.shape.front().first, row.shape.front().second) : "";
}

void find_far_from_roofline(const std::vector<Row>& rows, std::optional<double> blas_factor,
                            std::vector<std::string>& findings) {
  for (const Row& row : rows) {
    if (!row.optimised || !row.time_ns || !row.roofline_ns) continue;
    const double factor = work_ns(row) / *row.roofline_ns;
    if (factor > kRooflineFactor) {
      findings.push_back(fmt::format("{} {}{} takes {:.1f} times its roofline time: {}", row.op,
                                     row.variant, shape_suffix(row, rows), factor,
                                     likely_cause(row, blas_factor)));
    }
  }
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

}  // namespace

std::vector<ForwardPass> forward_passes(const std::vector<Row>& rows,
                                        const std::vector<PassVariants>& passes) {
  std::vector<ForwardPass> measured;
  for (const PassVariants& variants : passes) {
    ForwardPass pass{variants, 0};
    bool complete = true;
    for (const auto& [op, variant] : pass.variants) {
      std::size_t layers = 0;
      for (const Row& row : rows) {
        if (row.op != op || row.variant != variant) continue;
        ++layers;
        complete = complete && row.time_ns && row.roofline_ns;
        pass.time_ns += row.time_ns ? work_ns(row) : 0;
      }
      complete = complete && layers > 0;
    }
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
                                const std::vector<ForwardPass>& passes,
                                std::optional<double> blas_factor) {
  Complexity result;
  if (passes.empty()) {
    result.text = "not judged: no forward pass was measured in all its layers";
    return result;
  }
  // A pass that fuses layers cannot say how the time splits over them.
  const auto faster = [](const ForwardPass& a, const ForwardPass& b) {
    if (a.variants.size() != b.variants.size()) return a.variants.size() > b.variants.size();
    return a.time_ns < b.time_ns;
  };
  const ForwardPass& pass = *std::min_element(passes.begin(), passes.end(), faster);
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
                           .time_share = sum.time_ns / all.time_ns});
    ops += (ops.empty() ? "" : " : ") + sum.op;
  }
  find_order(sums, result.findings);
  find_far_from_roofline(rows, blas_factor, result.findings);
  result.agrees = result.findings.empty();
  result.text = fmt::format(
      "the time {} with the complexity analysis: {} take {} of the fastest forward pass in "
      "separate layers ({}); "
      "by cost units {}, by the roofline {}",
      *result.agrees ? "agrees" : "does not agree", ops, shares_text(sums, &OpSum::time_ns),
      pass.name, shares_text(sums, &OpSum::cost_units), shares_text(sums, &OpSum::roofline_ns));
  return result;
}

}  // namespace hwprof
