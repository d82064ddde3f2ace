#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/ops/conv1d.h"
#include "src/base/clock.h"
#include "src/commands/profile/profile.h"
#include "src/measure/agreement.h"
#include "src/measure/statistics.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {
namespace {

// Nanoseconds of a call, of the calling thread: the median of a few stretches, each long against
// the clock.
double time_alone(const std::function<void()>& run) {
  constexpr double kStretchNs = 3e5;
  constexpr int kStretches = 7;
  run();
  std::vector<double> samples;
  for (int i = 0; i < kStretches; ++i) {
    const double begin = thread_cpu_ns();
    double elapsed_ns = 0;
    std::uint64_t calls = 0;
    do {
      run();
      ++calls;
      elapsed_ns = thread_cpu_ns() - begin;
    } while (elapsed_ns < kStretchNs);
    samples.push_back(elapsed_ns / static_cast<double>(calls));
  }
  return median(std::move(samples));
}

// As many documents, so as many calls of a library, but one word, filter and output in each.
Sizes tiny_sizes(const OperationKind& kind, const report::FarVariant& far) {
  std::uint64_t k = 1, batch = 1;
  for (const auto& [name, value] : far.shape) {
    if (name == "k") k = value;
    if (name == "batch") batch = value;
  }
  Sizes sizes;
  for (const SizeParameter& size : kind.sizes) {
    const bool rows = size.name == "n" || size.name == "k";
    sizes.emplace_back(size.name, size.name == "batch" ? batch : rows ? k : size.least);
  }
  return sizes;
}

double call_ns(ProfileSession& session, const report::FarVariant& far) {
  const OperationKind* kind = find_operation(far.op);
  if (kind == nullptr) return 0;
  const Result<Operation> tiny =
      Operation::create({.op = far.op, .variant = far.variant, .sizes = tiny_sizes(*kind, far)}, {},
                        session.library(), session.blas.reason, session.team());
  return tiny && tiny->task().run ? time_alone(tiny->task().run) : 0;
}

double copy_ns(const report::FarVariant& far, const Batch& batch) {
  const auto k = std::find_if(far.shape.begin(), far.shape.end(),
                              [](const auto& size) { return size.first == "k"; });
  if (far.op != "conv1d" || far.variant != "blas-im2col" || k == far.shape.end()) return 0;
  const Conv1dInput input{
      .shape = {k->second, batch.d_e, 0}, .row_start = batch.row_start, .x = batch.x.data()};
  std::size_t longest = 0;
  for (std::size_t b = 0; b < input.documents(); ++b)
    longest = std::max(longest, input.row_start[b + 1] - input.row_start[b]);
  std::vector<float> patches(conv1d_im2col_scratch(input.shape, longest));
  return time_alone([&] {
    for (std::size_t b = 0; b < input.documents(); ++b) conv1d_im2col(input, b, patches.data());
  });
}

}  // namespace

void measure_causes(ProfileSession& session, const Batch& batch) {
  for (report::FarVariant& far : session.record.complexity.far) {
    CauseTimes times;
    if (far.variant.rfind("blas-", 0) == 0) {
      times.blas_factor = session.record.blas.factor.value_or(1);
    }
    times.call_ns = call_ns(session, far);
    times.copy_ns = copy_ns(far, batch);
    far.causes = causes_of(far, times);
  }
}

}  // namespace hwprof
