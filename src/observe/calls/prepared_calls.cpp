#include "src/observe/calls/prepared_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

namespace hwprof::observe {
namespace {

std::size_t dimensions_of(const TensorShape& shape) {
  return shape.dimensions <= TensorShape::kMostDimensions ? shape.dimensions : 0;
}

// A size that is known at the call alone is the smallest number that there is.
bool is_known(const TensorShape& shape) {
  const long* end = shape.sizes + dimensions_of(shape);
  return dimensions_of(shape) > 0 &&
         std::all_of(shape.sizes, end, [](long size) { return size >= 0; });
}

double product(const TensorShape& shape) {
  double all = 1;
  for (std::size_t i = 0; i < dimensions_of(shape); ++i) all *= static_cast<double>(shape.sizes[i]);
  return all;
}

std::string text_of(const TensorShape& shape) {
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < dimensions_of(shape); ++i)
    sizes.push_back(shape.sizes[i] < 0 ? "?" : std::to_string(shape.sizes[i]));
  return fmt::format("{}", fmt::join(sizes, "x"));
}

std::string shape_text(const PreparedWork& work) {
  const std::string source = text_of(work.source), result = text_of(work.result);
  std::string text = source;
  if (const std::string weights = text_of(work.weights); !weights.empty())
    text += (text.empty() ? "" : " * ") + weights;
  if (!result.empty() && result != text) text += (text.empty() ? "" : " -> ") + result;
  return text;
}

// Weights are [groups,] outputs, inputs, kernel; the first two of one group each.
double products_of_convolution(const PreparedWork& work, bool transposed) {
  const TensorShape& weights = work.weights;
  const std::size_t grouped = dimensions_of(weights) == dimensions_of(work.source) + 1 ? 1 : 0;
  if (dimensions_of(weights) < 2 + grouped) return 0;
  const double groups = grouped != 0 ? static_cast<double>(weights.sizes[0]) : 1;
  const double of_group = static_cast<double>(weights.sizes[grouped + (transposed ? 1 : 0)]);
  const double each = groups * of_group > 0 ? product(weights) / (groups * of_group) : 0;
  return each * product(transposed ? work.source : work.result);
}

double size_at_end(const TensorShape& shape) {
  return static_cast<double>(shape.sizes[dimensions_of(shape) - 1]);
}

bool is_of_fftw(Prepared by) { return by == Prepared::kPlan || by == Prepared::kPlanner; }

std::string transform_text(const PreparedWork& work) {
  const std::string sizes = text_of(work.source), count = text_of(work.weights);
  return count.empty() || count == "1" ? sizes : fmt::format("{} of {}", count, sizes);
}

std::optional<double> flop_count_of_transform(const PreparedWork& work) {
  const std::string kind = text_in(work.kind);
  if (!is_known(work.source) || !is_known(work.weights) || kind == "r2r") return std::nullopt;
  const double numbers = product(work.source);
  const double each = kind == "c2c" ? 5 : 2.5;
  return numbers > 1 ? product(work.weights) * each * numbers * std::log2(numbers) : 0;
}

}  // namespace

std::optional<double> flop_count(const PreparedWork& work, Prepared by) {
  if (by == Prepared::kPlanner) return std::nullopt;
  if (by == Prepared::kPlan) return flop_count_of_transform(work);
  if (!is_known(work.source) || !is_known(work.weights) || !is_known(work.result))
    return std::nullopt;
  const std::string kind = text_in(work.kind);
  if (kind == "convolution") return 2 * products_of_convolution(work, false);
  if (kind == "deconvolution") return 2 * products_of_convolution(work, true);
  if (kind == "inner_product")
    return 2 * product(work.source) * static_cast<double>(work.weights.sizes[0]);
  if (kind == "matmul") return 2 * product(work.result) * size_at_end(work.source);
  return std::nullopt;
}

report::PreparedCall describe(const PreparedWork& work, Prepared by) {
  report::PreparedCall call;
  call.kind = text_in(work.kind);
  if (call.kind.empty()) return describe_unknown(by);
  if (by == Prepared::kPlanner) call.kind = "planning " + call.kind;
  call.direction = text_in(work.direction);
  call.implementation = text_in(work.implementation);
  call.type = text_in(work.type);
  call.shape = is_of_fftw(by) ? transform_text(work) : shape_text(work);
  return call;
}

report::PreparedCall describe_unknown(Prepared by) {
  report::PreparedCall call;
  call.reason = is_of_fftw(by)
                    ? "how these plans were made was not seen, or kinds of calls are too many"
                    : "the library does not tell of these calls, or kinds of calls are too many";
  return call;
}

report::PreparedCall counted(report::PreparedCall call, std::optional<double> flops_of_one,
                             const CountedCalls& calls) {
  call.count = calls.count;
  if (calls.timed == calls.count) call.time_ns = calls.time_ns;
  if (flops_of_one) call.flops = *flops_of_one * static_cast<double>(calls.count);
  return call;
}

PreparedOfSites prepared_of_sites(const audit::Table& table) {
  PreparedOfSites found;
  for (std::uint32_t place = 0; place < audit::kPreparedCalls; ++place) {
    const audit::PreparedCalls& calls = table.prepared[place];
    if (audit::load(calls.state) == audit::kReady) found[audit::load(calls.site)].push_back(place);
  }
  return found;
}

void merge_prepared(std::vector<report::PreparedCall>& calls) {
  const auto key = [](const report::PreparedCall& call) {
    return std::tie(call.library, call.caller, call.kind, call.direction, call.implementation,
                    call.type, call.shape);
  };
  std::stable_sort(calls.begin(), calls.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto sum = [](std::optional<double>& whole, const std::optional<double>& part) {
    whole = whole && part ? std::optional(*whole + *part) : std::nullopt;
  };
  std::vector<report::PreparedCall> merged;
  double all_ns = 0;
  for (report::PreparedCall& call : calls) {
    all_ns += call.time_ns.value_or(0);
    if (merged.empty() || key(merged.back()) != key(call)) {
      merged.push_back(std::move(call));
      continue;
    }
    merged.back().count += call.count;
    sum(merged.back().time_ns, call.time_ns);
    sum(merged.back().flops, call.flops);
  }
  for (report::PreparedCall& call : merged)
    if (call.time_ns && all_ns > 0) call.time_share = *call.time_ns / all_ns;
  std::stable_sort(merged.begin(), merged.end(), [](const auto& a, const auto& b) {
    return a.time_ns.value_or(0) > b.time_ns.value_or(0);
  });
  calls = std::move(merged);
}

}  // namespace hwprof::observe
