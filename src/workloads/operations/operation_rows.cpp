// Operations without weights that take their elements or rows as they come: ReLU, add, softmax, and
// the view that a reshape is.
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

// ReLU, add and views are exact: the magnitude only has to be a scale.
template <class F>
Expected exact(std::size_t count, const F& value_at) {
  Expected expected;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = value_at(i);
    expected.value.push_back(value);
    expected.magnitude.push_back(std::abs(value));
  }
  return expected;
}

}  // namespace

void build_relu(OperationBuild& build) {
  const ReluVariant& variant = variant_named(relu_variants(), build.spec.variant);
  const std::size_t count = build.size("count");
  const ReluCall call{
      .count = count, .x = build.input(0, {count}), .y = build.result({count}), .team = build.team};
  if (build.dry) return;
  build.describe(variant, relu_cost(count));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call] {
    return exact(call.count, [&](std::size_t i) { return call.x[i] < 0 ? 0.0F : call.x[i]; });
  };
  build.task.check = [call, expected = build.expected] {
    return max_relative_error(expected(), call.y);
  };
}

void build_add(OperationBuild& build) {
  const AddVariant& variant = variant_named(add_variants(), build.spec.variant);
  const std::size_t count = build.size("count");
  const AddCall call{.count = count,
                     .a = build.input(0, {count}),
                     .b = build.input(1, {count}),
                     .y = build.result({count}),
                     .team = build.team};
  if (build.dry) return;
  build.describe(variant, add_cost(count));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call] {
    return exact(call.count, [&](std::size_t i) { return call.a[i] + call.b[i]; });
  };
  build.task.check = [call, expected = build.expected] {
    return max_relative_error(expected(), call.y);
  };
}

void build_softmax(OperationBuild& build) {
  const SoftmaxVariant& variant = variant_named(softmax_variants(), build.spec.variant);
  const std::size_t rows = build.size("batch"), columns = build.size("l");
  const SoftmaxCall call{.rows = rows,
                         .columns = columns,
                         .x = build.input(0, {rows, columns}),
                         .y = build.result({rows, columns}),
                         .team = build.team};
  if (build.dry) return;
  build.describe(variant, softmax_cost(rows, columns));
  build.expected = [call] { return softmax_expected(call); };
  build.task.run = [call, run = variant.run] { run(call); };
  constexpr double kExponentials = 40;  // as long as so many multiply-adds
  build.task.check = items_check(call, &SoftmaxCall::rows, columns, columns,
                                 kExponentials * static_cast<double>(columns), softmax_expected);
}

// Its output is its input: no work, no cost, and nothing that could be wrong.
void build_reshape(OperationBuild& build) {
  const std::size_t count = build.size("count");
  const float* x = build.input(0, {count});
  if (build.dry) return;
  build.output = {x, count};
  build.expected = [x, count] { return exact(count, [x](std::size_t i) { return x[i]; }); };
  build.task.run = [] {};
  build.task.check = [] { return 0.0; };
}

}  // namespace hwprof
