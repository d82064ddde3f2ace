#include "src/workloads/operations/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/suggest.h"
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

const std::uint64_t* find_size(const Sizes& sizes, std::string_view name) {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [name](const auto& size) { return size.first == name; });
  return found == sizes.end() ? nullptr : &found->second;
}

tl::unexpected<Error> unknown(std::string_view kind, std::string_view word,
                              const std::vector<std::string_view>& known) {
  const std::string near = did_you_mean(nearest(word, std::span(known)));
  return usage_error(fmt::format("unknown {} '{}'", kind, word),
                     near.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : near);
}

Result<const OperationKind*> kind_of(const std::string& op) {
  if (const OperationKind* kind = find_operation(op); kind != nullptr) return kind;
  std::vector<std::string_view> names;
  for (const OperationKind& kind : operation_kinds()) names.push_back(kind.name);
  return unknown("operation", op, names);
}

// What no single size can show.
Result<void> check_together(const OperationKind& kind, const Sizes& sizes) {
  const std::uint64_t* k = find_size(sizes, "k");
  const std::uint64_t* n = find_size(sizes, "n");
  if (k != nullptr && n != nullptr && *k > *n) {
    return usage_error(fmt::format("{}: k={} is more than n={}", kind.name, *k, *n),
                       "a document must be at least as long as the filter");
  }
  const std::uint64_t* kernel = find_size(sizes, "kernel");
  if (kernel != nullptr && *kernel % 2 == 0) {
    return usage_error(fmt::format("{}: kernel={} is even", kind.name, *kernel),
                       "its padding is (kernel - 1) / 2 on every side");
  }
  // Inner dimension of the product, which BLAS takes as a 32-bit number.
  std::uint64_t depth = 1;
  for (const std::string_view name : {"k", "d_e", "kernel", "kernel", "c_in"}) {
    const std::uint64_t* size = find_size(sizes, name);
    if (size != nullptr && kind.name != "maxpool") depth *= *size;
  }
  if (depth > SizeParameter{}.most) {
    return usage_error(fmt::format("{}: {} inputs of one output are too many", kind.name, depth),
                       fmt::format("at most {}", SizeParameter{}.most));
  }
  return {};
}

double bytes_of(const OperationSpec& spec, const Sizes& sizes,
                std::span<const std::span<const float>> inputs, const OperationPlace& place) {
  OperationBuild build{.spec = spec, .sizes = sizes, .inputs = inputs, .place = place, .dry = true};
  find_operation(spec.op)->build(build);
  return build.bytes;
}

}  // namespace

const OperationKind* find_operation(std::string_view name) {
  const auto kinds = operation_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [name](const auto& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

std::uint64_t size_of(const Sizes& sizes, std::string_view name) { return *find_size(sizes, name); }

std::size_t input_count(std::string_view op, const Sizes& sizes) {
  const std::uint64_t* add = find_size(sizes, "add");
  return op == "add" || (add != nullptr && *add != 0) ? 2 : 1;
}

Result<Sizes> complete_sizes(const OperationSpec& spec) {
  const Result<const OperationKind*> found = kind_of(spec.op);
  if (!found) return error_of(found);
  const OperationKind& kind = **found;
  const std::vector<std::string_view> variants = kind.variants();
  if (std::find(variants.begin(), variants.end(), spec.variant) == variants.end()) {
    return unknown(fmt::format("variant of {}", kind.name), spec.variant, variants);
  }
  std::vector<std::string_view> names;
  for (const SizeParameter& size : kind.sizes) names.push_back(size.name);
  for (const auto& [name, value] : spec.sizes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return unknown(fmt::format("size of {}", kind.name), name, names);
    }
  }
  Sizes sizes;
  for (const SizeParameter& size : kind.sizes) {
    const std::uint64_t* given = find_size(spec.sizes, size.name);
    const std::uint64_t value = given == nullptr ? size.standard : *given;
    if (value < size.least || value > size.most) {
      return usage_error(fmt::format("{}: {}={} is out of range", kind.name, size.name, value),
                         fmt::format("{} to {}", size.least, size.most));
    }
    sizes.emplace_back(size.name, value);
  }
  if (auto fits = check_together(kind, sizes); !fits) return error_of(fits);
  return sizes;
}

double bytes_needed(const OperationSpec& spec, bool own_input) {
  const Result<Sizes> sizes = complete_sizes(spec);
  if (!sizes) return 0;
  const std::span<const float> others[2];
  if (own_input) return bytes_of(spec, *sizes, {}, {});
  return bytes_of(spec, *sizes, others, {});
}

std::string in_gib(double bytes) { return fmt::format("{:.3g} GiB", bytes / (1 << 30)); }

Result<void> check_memory(const std::string& what, double bytes) {
  const double machine =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes <= machine) return {};
  return usage_error(
      fmt::format("{} needs {} of memory, and there are {}", what, in_gib(bytes), in_gib(machine)),
      "choose smaller sizes");
}

struct Operation::State {
  Task task;
  std::vector<FloatBuffer> memory;
  std::deque<std::vector<std::size_t>> tables;
  std::span<const float> output;
  std::function<Expected()> expected;
};

Result<Operation> Operation::create(const OperationSpec& spec,
                                    std::span<const std::span<const float>> inputs,
                                    const BlasLibrary* blas, const std::string& no_blas_reason,
                                    ThreadTeam& team, const OperationPlace& place) {
  const Result<Sizes> sizes = complete_sizes(spec);
  if (!sizes) return error_of(sizes);
  const double bytes = bytes_of(spec, *sizes, inputs, place);
  if (auto fits = check_memory(fmt::format("{} {}", spec.op, spec.variant), bytes); !fits) {
    return error_of(fits);
  }
  const OperationKind& kind = *find_operation(spec.op);
  OperationBuild build{
      .spec = spec, .sizes = *sizes, .inputs = inputs, .place = place, .blas = blas, .team = &team};
  kind.build(build);
  if (build.failure) return tl::make_unexpected(*build.failure);
  Task& task = build.task;
  task.op = kind.name;
  for (const std::string_view name : kind.variants()) {
    if (name == spec.variant) task.variant = name;  // of the table, which outlives `spec`
  }
  task.shape = *sizes;
  if (task.needs_blas && blas == nullptr) {
    task.run = nullptr;
    task.check = nullptr;
    task.reason = no_blas_reason;
  }
  return Operation(std::unique_ptr<State>(new State{std::move(task), std::move(build.memory),
                                                    std::move(build.tables), build.output,
                                                    std::move(build.expected)}));
}

Operation::Operation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Operation::Operation(Operation&&) noexcept = default;
Operation& Operation::operator=(Operation&&) noexcept = default;
Operation::~Operation() = default;

const Task& Operation::task() const { return state_->task; }
std::span<const float> Operation::output() const { return state_->output; }
Expected Operation::expected() const { return state_->expected(); }

}  // namespace hwprof
