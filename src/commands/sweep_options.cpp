// The options of `hwprof sweep` as one table; those of measuring are the profile's.
#include "src/commands/sweep_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "src/cli/log.h"
#include "src/cli/options.h"
#include "src/cli/profile_rows.h"
#include "src/cli/value_options.h"
#include "src/cli/values.h"

namespace hwprof::cli {
namespace {

constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMaxPoints = 64;
constexpr std::size_t kMaxRanges = 2;

constexpr const char* kWork = "What is run";
constexpr const char* kReport = "The report";
constexpr const char* kParamHint = "as in --param n=32:2048";

using Text = const std::string&;

// "n=32:2048"
Result<SweepRange> parse_range(const std::string& item) {
  const std::size_t equals = item.find('='), colon = item.find(':');
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos || colon < equals) {
    return usage_error(fmt::format("--param: '{}' is not NAME=LOW:HIGH", item), kParamHint);
  }
  SweepRange range{.name = item.substr(0, equals)};
  const std::string option = "--param: " + range.name;
  const auto low = parse_whole(option, item.substr(equals + 1, colon - equals - 1), 1, kMaxSize);
  if (!low) return error_of(low);
  const auto high = parse_whole(option, item.substr(colon + 1), 1, kMaxSize);
  if (!high) return error_of(high);
  range.low = *low;
  range.high = *high;
  if (*low > *high) {
    return usage_error(fmt::format("--param: {} is reversed", item),
                       fmt::format("--param {}={}:{}", range.name, *high, *low));
  }
  if (*low == *high) {
    return usage_error(fmt::format("--param: {} is a single size", item), kParamHint);
  }
  return range;
}

// parse_list() drops what is there twice; that is a mistake here.
Result<void> store_ranges(Text name, Text text, SweepOptions& to) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  for (const std::string& item : items) {
    const auto range = parse_range(item);
    if (!range) return error_of(range);
    for (const SweepRange& other : to.ranges) {
      if (other.name == range->name) {
        return usage_error(fmt::format("{} has {} twice", name, range->name), "give it once");
      }
    }
    to.ranges.push_back(*range);
  }
  if (to.ranges.size() > kMaxRanges) {
    return usage_error(fmt::format("{} has {} sizes; at most {} can be swept at once", name,
                                   to.ranges.size(), kMaxRanges));
  }
  return {};
}

// "k=2,d_e=300"; which names there are, the operation knows.
Result<void> store_sizes(Text name, Text text, SweepOptions& to) {
  const auto items = parse_list(name, text);
  if (!items) return error_of(items);
  for (const std::string& item : *items) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error(fmt::format("{}: '{}' is not KEY=SIZE", name, item),
                         "as in --shape k=2,d_e=300");
    }
    const std::string key = item.substr(0, equals);
    const auto size =
        parse_whole(fmt::format("{}: {}", name, key), item.substr(equals + 1), 0, kMaxSize);
    if (!size) return error_of(size);
    for (const auto& [other, value] : to.sizes)
      if (other == key) return usage_error(fmt::format("{} has {} twice", name, key));
    to.sizes.emplace_back(key, *size);
  }
  return {};
}

constexpr Choice<bool SweepOptions::*> kRequirements[] = {
    {"agreement", &SweepOptions::require_agreement}};

// In the order of the help.
constexpr ValueOption<SweepOptions> kOptions[] = {
    {"--op", "NAME", kWork, Occurs::kOnce,
     [](Text, Text text, SweepOptions& to) { return store<std::string>(text, to.op); },
     "Run this operation: conv1d, conv1d-maxpool, maxpool (or pooling),\n"
     "linear, conv2d, conv2d-bn-relu, batchnorm, relu, add,\n"
     "average-pool, softmax, reshape."},
    {"--variant", "NAME", kWork, Occurs::kOnce,
     [](Text, Text text, SweepOptions& to) { return store<std::string>(text, to.variant); },
     "In this variant. Default: hwprof's own optimised one."},
    {"--param", "NAME=LOW:HIGH", kWork, Occurs::kAddsUp, store_ranges,
     "Sweep this size from LOW to HIGH in geometric steps; given for two\n"
     "sizes: in every combination."},
    {"--points", "N", kWork, Occurs::kOnce,
     [](Text name, Text text, SweepOptions& to) {
       return store(parse_whole(name, text, 2, kMaxPoints), to.points.emplace());
     },
     "Measure N sizes of each range. Default: one for each doubling,\n"
     "6 to 12; of two ranges 4 to 6 each."},
    {"--shape", "SPEC", kWork, Occurs::kAddsUp, store_sizes,
     "Set the other sizes, as in d_e=300,d_c=128. Default: those of the\n"
     "text CNN (k=2,d_e=300,d_c=128,n=124,l=103,batch=64), or of\n"
     "ResNet20's first block."},
    {"--require", "CHECK", kReport, Occurs::kOnce,
     [](Text name, Text text, SweepOptions& to) -> Result<void> {
       const auto member = parse_choice(name, text, kRequirements);
       if (!member) return error_of(member);
       to.*(*member) = true;
       return {};
     },
     "Exit with 1 unless agreement holds: of time with the complexity\n"
     "analysis, in every size that is swept. Default: no check."},
};

constexpr std::string_view kShared[] = {"--blas",    "--seed",     "--pin",    "--events",
                                        "--threads", "--isa",      "--passes", "--time-budget",
                                        "--format",  "-o,--output"};

struct Typed {
  TypedValues own, shared;
  std::vector<ValueOption<ProfileFlags>> rows = profile_rows(kShared);
  bool verbose = false, quiet = false, full = false;
};

Result<SweepOptions> judge(const Typed& typed) {
  SweepOptions options;
  if (auto done = set_values<SweepOptions>(kOptions, typed.own, options); !done)
    return error_of(done);
  ProfileFlags flags;
  if (auto done = set_values<ProfileFlags>(typed.rows, typed.shared, flags); !done)
    return error_of(done);
  options.measure = std::move(flags.measure);
  if (options.op.empty()) {
    return usage_error("sweep needs an operation",
                       "as in hwprof sweep --op conv1d --variant fused --param n=32:2048");
  }
  if (options.ranges.empty()) return usage_error("sweep needs a size to sweep", kParamHint);
  if (options.measure.machine.threads.size() > 1) {
    return usage_error("--threads: a sweep takes one number of threads",
                       "run it again for the other one");
  }
  if (typed.verbose && typed.quiet) return usage_error("--verbose and --quiet exclude each other");
  options.measure.machine.ladder = false;
  options.measure.quiet = typed.quiet;
  return options;
}

}  // namespace

Action declare_sweep(CLI::App& app, std::function<Result<int>(const SweepOptions&)> run) {
  auto typed = std::make_shared<Typed>();
  declare_values<SweepOptions>(app, kOptions, typed->own);
  declare_values<ProfileFlags>(app, typed->rows, typed->shared);
  declare_flag(app, "--full", kReport, "Print all of the text report. Default: what matters most.",
               typed->full);
  declare_flag(app, "-v,--verbose", kReport, "Log each step on standard error. Default: off.",
               typed->verbose);
  declare_flag(app, "-q,--quiet", kReport, "Log errors only, show no progress. Default: off.",
               typed->quiet);
  return
      [typed, run = std::move(run)](const std::vector<std::string>& command_line) -> Result<int> {
        auto options = judge(*typed);
        if (!options) return error_of(options);
        options->measure.command = command_line;
        options->measure.output.full = typed->full;
        start_log(typed->verbose ? Verbosity::kVerbose
                  : typed->quiet ? Verbosity::kQuiet
                                 : Verbosity::kNormal);
        return run(*options);
      };
}

}  // namespace hwprof::cli
