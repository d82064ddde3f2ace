#include "src/measure/exact_excess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace hwprof {
namespace {

double lanes_of(const model::ExactCount& count, const char* operation) {
  const auto found = count.operations.find(operation);
  return found == count.operations.end() ? 0 : static_cast<double>(found->second);
}

// "24 multiply-adds": kinds of operations that were executed more, or less, often than the model
// has.
struct Differences {
  std::vector<std::string> more, fewer;

  void add(double difference, std::string_view what) {
    if (difference > 0) more.push_back(fmt::format("{:.0f} {}", difference, what));
    if (difference < 0) fewer.push_back(fmt::format("{:.0f} {}", -difference, what));
  }
};

}  // namespace

std::vector<std::string> exact_excess(const Cost& model, const model::ExactCount& count,
                                      bool by_blas) {
  const double fused = lanes_of(count, "fma");
  const double multiplications = fused + lanes_of(count, "multiply") - model.multiplications;
  const double additions = fused + lanes_of(count, "add") - model.additions;
  const double exponentials = model.flops - model.multiplications - model.additions;
  // A fused one is both: where there are more of them than products, those are of no use.
  const double beyond =
      std::max(0.0, std::min({fused - model.multiplications, multiplications, additions}));
  Differences found;
  found.add(beyond, "multiply-adds");
  found.add(multiplications - beyond, "multiplications");
  found.add(additions - beyond, "additions");
  found.add(lanes_of(count, "divide"), "divisions");
  found.add(lanes_of(count, "square-root"), "square roots");
  // What is left: dot products within registers, complex numbers of half precision, and the
  // exponentials, which no instruction computes.
  const double told =
      multiplications + additions + lanes_of(count, "divide") + lanes_of(count, "square-root");
  const double rest = static_cast<double>(count.flops) - model.flops - told;
  found.add(rest, exponentials > 0 && rest == -exponentials ? "exponentials" : "other FLOP");

  std::vector<std::string_view> causes;
  if (by_blas) {
    causes = {"alpha, beta, panels that are added up, lanes beyond the shape"};
  } else {
    if (exponentials > 0) causes.emplace_back("exponentials are polynomials");
    if (exponentials == 0 && beyond > 0) causes.emplace_back("lanes or taps beyond the shape");
    if (additions > beyond)
      causes.emplace_back("partial sums, also those of the lanes of a vector");
  }
  std::vector<std::string> sentences;
  if (!found.more.empty()) {
    sentences.push_back(fmt::format("{} more than the model has{}{}", fmt::join(found.more, ", "),
                                    causes.empty() ? "" : ": ", fmt::join(causes, "; ")));
  }
  if (!found.fewer.empty())
    sentences.push_back(fmt::format("{} fewer than the model has", fmt::join(found.fewer, ", ")));
  return sentences;
}

}  // namespace hwprof
