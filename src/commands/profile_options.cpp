// The options of `hwprof profile` as one table.
#include "src/commands/profile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "src/base/suggest.h"
#include "src/cli/log.h"
#include "src/cli/options.h"
#include "src/cli/profile_rows.h"
#include "src/cli/shape.h"
#include "src/cli/value_options.h"
#include "src/cli/values.h"
#include "src/commands/region_options.h"

namespace hwprof::cli {
namespace {

constexpr std::uint64_t kMaxThreads = 8192;  // CONFIG_NR_CPUS is at most that
constexpr std::uint64_t kMaxPasses = 1000;
constexpr std::uint64_t kMaxTraceCalls = 1U << 28;
constexpr std::uint64_t kMaxLoops = 1'000'000'000;
constexpr std::uint64_t kMaxRepeat = 100'000;  // all of them are kept
constexpr std::uint64_t kMaxEpochs = 1000000;
constexpr std::uint64_t kMaxBatch = 1000000;
constexpr double kMaxSeconds = 1e6;

constexpr Choice<DocsFormat> kDocsFormats[] = {{"auto", DocsFormat::kAuto},
                                               {"libmultilabel", DocsFormat::kLibMultiLabel},
                                               {"lines", DocsFormat::kLines}};
constexpr Choice<Padding> kPaddings[] = {{"own", Padding::kOwn}, {"batch", Padding::kBatch}};
constexpr Choice<Format> kFormats[] = {{"text", Format::kText},
                                       {"json", Format::kJson},
                                       {"csv", Format::kCsv},
                                       {"markdown", Format::kMarkdown}};
constexpr Choice<bool ProfileFlags::*> kRequirements[] = {
    {"optimal-blas", &ProfileFlags::require_optimal_blas},
    {"counters", &ProfileFlags::require_counters}};

constexpr const char* kWork = "What is run";
constexpr const char* kMeasure = "How it is measured";
constexpr const char* kReport = "The report";

using Text = const std::string&;

Result<void> store_requirements(Text name, Text text, ProfileFlags& to) {
  const auto checks = parse_list(name, text);
  if (!checks) return error_of(checks);
  for (const std::string& check : *checks) {
    const auto member = parse_choice(name, check, kRequirements);
    if (!member) return error_of(member);
    to.*(*member) = true;
  }
  return {};
}

report::RegionView& region_view(ProfileFlags& flags) { return flags.measure.regions.view; }

// In the order of the help.
constexpr const auto& kViewOptions = kRegionOptions<ProfileFlags, region_view>;
constexpr ValueOption<ProfileFlags> kOptions[] = {
    {"--workload", "NAME", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) { return store<std::string>(text, to.workload); },
     "Run this workload: textcnn, resnet20, mlp (learns digits), or the\n"
     "layers of a FILE.json; hwprof workloads lists them. Default:\n"
     "textcnn."},
    {"--docs", "FILE", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.text_cnn.docs.emplace());
     },
     "Classify the documents of FILE (\"-\": standard input).\n"
     "Default: synthetic ones, mean length 123.9 words as on rcv1."},
    {"--docs-format", "FORMAT", kWork, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_choice(name, text, kDocsFormats), to.text_cnn.docs_format);
     },
     "Read FILE as libmultilabel ([ID]<TAB>labels<TAB>text) or\n"
     "lines (one document a line). Default: auto, by its TABs."},
    {"--embed", "FILE", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.text_cnn.embed.emplace());
     },
     "Take word vectors from FILE in GloVe's text format.\n"
     "Default: drawn from a hash of each word."},
    {"--padding", "own|batch", kWork, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_choice(name, text, kPaddings), to.text_cnn.padding);
     },
     "Run each document at its own length, or padded to the longest\n"
     "of the batch as PyTorch programs do. Default: own."},
    {"--shape", "SPEC", kWork, Occurs::kAddsUp,
     [](Text, Text text, ProfileFlags& to) { return store(parse_shape(text), to.text_cnn.shape); },
     "Set sizes: k (or filter_sizes=2+4+8), d_e, d_c, n, l, batch.\n"
     "Default: k=2,d_e=300,d_c=128,l=103,batch=64, and of the\n"
     "documents each its own n (words)."},
    {"--images", "FILE", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.mlp.images.emplace());
     },
     "mlp: learn from the images of FILE, as MNIST has them (IDX, plain\n"
     "or gzip). Default: generated digits."},
    {"--labels", "FILE", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.mlp.labels.emplace());
     },
     "mlp: take the labels of --images from FILE. Default: of the\n"
     "generated digits."},
    {"--test-images", "FILE", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.mlp.test_images.emplace());
     },
     "mlp: judge the accuracy on the images of FILE, and --test-labels.\n"
     "Default: on the last sixth of the images, which is not learnt."},
    {"--test-labels", "FILE", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.mlp.test_labels.emplace());
     },
     "mlp: take the labels of --test-images from FILE. Default: of the\n"
     "last sixth."},
    {"--epochs", "N", kWork, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 1, kMaxEpochs), to.mlp.epochs);
     },
     "mlp: go through the images N times, or until the time budget\n"
     "ends. Default: 10."},
    {"--batch", "N", kWork, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 1, kMaxBatch), to.mlp.batch);
     },
     "mlp: learn from N images a step. Default: 100."},
    {"--variant", "LIST", kWork, Occurs::kAddsUp,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_list(name, text), to.variants);
     },
     "Run only these variants, separated by commas; of a network of\n"
     "layers these forms: eager, fused, blas, reference. Default: all."},
    {"--blas", "PATH", kWork, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.measure.machine.blas);
     },
     "Load this BLAS. Default: what the dynamic loader gives a program\n"
     "that asks for libblas.so.3."},
    {"--seed", "N", kWork, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 0, std::numeric_limits<std::uint64_t>::max()),
                    to.measure.seed);
     },
     "Draw documents and weights from seed N. Default: 0."},
    {"--pin", "CPUS", kMeasure, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store(parse_cpu_list(text), to.measure.machine.pin);
     },
     "Run on these CPUs only, as in 0 or 0,2-3. Default: wherever the\n"
     "kernel puts it."},
    {"--events", "LIST", kMeasure, Occurs::kAddsUp,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_events(name, text), to.measure.machine.events);
     },
     "Count these events, separated by commas: names, r01c2, or\n"
     "cpu/event=0xc2,umask=0x1/. Default: cycles, instructions, flops,\n"
     "llc-miss, task-clock, context-switches, page-faults."},
    {"--threads", "LIST", kMeasure, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) -> Result<void> {
       const auto counts = parse_list(name, text);
       if (!counts) return error_of(counts);
       for (const std::string& count : *counts) {
         auto done = store(parse_whole(name, count, 1, kMaxThreads),
                           to.measure.machine.threads.emplace_back());
         if (!done) return done;
       }
       return {};
     },
     "Compute with N threads; several numbers, as in 1,2,4, one after\n"
     "the other and side by side. Default: one for each CPU it may use."},
    {"--isa", "ISA", kMeasure, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text, to.measure.machine.isa);
     },
     "Use no wider instruction set in hwprof's own kernels: sse, avx2,\n"
     "avx512, neon. Default: the widest that the CPU has."},
    {"--loops", "N", kMeasure, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 1, kMaxLoops), to.text_cnn.loops.emplace());
     },
     "Time N calls of each row at once, as timeit does. Default: as\n"
     "many as take 20 ms."},
    {"--repeat", "N", kMeasure, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 1, kMaxRepeat), to.measure.budget.repeat.emplace());
     },
     "Measure each row N times, however long it takes, and print the\n"
     "best and the outliers; of a network of layers, over N inferences.\n"
     "Default: until the intervals are narrow."},
    {"--time-budget", "SECONDS", kMeasure, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_seconds(name, text, kMaxSeconds), to.measure.budget.seconds);
     },
     "Stop measuring after this time, intervals narrow or not; a first\n"
     "and a timed call of each row are always made. Default: 10."},
    {"--passes", "N", kMeasure, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 1, kMaxPasses), to.measure.machine.passes);
     },
     "Count in at most N passes; events that do not fit are multiplexed.\n"
     "Default: as many passes as the events need."},
    kViewOptions[0],
    kViewOptions[1],
    kViewOptions[2],
    kViewOptions[3],
    {"--regions", "FILE", kRegions, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) -> Result<void> {
       if (!text.ends_with(".csv"))
         return usage_error(fmt::format("{} takes a file that ends in .csv, not '{}'", name, text));
       return store<std::string>(text, to.measure.regions.csv);
     },
     "Write the table to FILE.csv, too. Default: do not."},
    {"--trace", "FILE", kRegions, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) -> Result<void> {
       if (!text.ends_with(".json"))
         return usage_error(
             fmt::format("{} takes a file that ends in .json, not '{}'", name, text));
       return store<std::string>(text, to.measure.regions.trace);
     },
     "Write each call to FILE.json, as ui.perfetto.dev and\n"
     "chrome://tracing open it. Default: do not."},
    {"--trace-calls", "N", kRegions, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_whole(name, text, 1, kMaxTraceCalls), to.measure.regions.trace_calls);
     },
     "Keep the last N calls of a thread for it. Default: 65536."},
    {"--format", "FORMAT", kReport, Occurs::kOnce,
     [](Text name, Text text, ProfileFlags& to) {
       return store(parse_choice(name, text, kFormats), to.measure.output.format);
     },
     "Print text, json, csv or markdown. Default: text."},
    {"-o,--output", "FILE", kReport, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) {
       return store<std::string>(text == "-" ? "" : text, to.measure.output.file);
     },
     "Write the report to FILE, whole or not at all. Default: \"-\",\n"
     "standard output."},
    {"--against", "FILE", kReport, Occurs::kOnce,
     [](Text, Text text, ProfileFlags& to) { return store<std::string>(text, to.network.against); },
     "Print another table's times beside those of the layers; FILE has\n"
     "index,layer,seconds. Default: none."},
    {"--require", "CHECK", kReport, Occurs::kAddsUp, store_requirements,
     "Exit with 1 unless optimal-blas, or counters (every event counted),\n"
     "holds; both: optimal-blas,counters. Default: neither."},
};

struct Typed {
  TypedValues values;
  bool no_ladder = false, overhead = false, verbose = false, quiet = false, full = false;
};

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Images and labels come in pairs, and held-out ones beside some to learn from.
Result<void> check_image_files(const MlpOptions& mlp) {
  const auto needs = [](const char* given, const char* missing) {
    return usage_error(fmt::format("{} needs {}", given, missing),
                       fmt::format("name the file with {} FILE", missing));
  };
  if (mlp.images && !mlp.labels) return needs("--images", "--labels");
  if (mlp.labels && !mlp.images) return needs("--labels", "--images");
  if (mlp.test_images && !mlp.test_labels) return needs("--test-images", "--test-labels");
  if (mlp.test_labels && !mlp.test_images) return needs("--test-labels", "--test-images");
  if (mlp.test_images && !mlp.images) return needs("--test-images", "--images");
  return {};
}

// No name of a workload has a dot or a slash; "-" is standard input, as everywhere.
bool is_layer_file(const std::string& workload) {
  return workload == "-" || workload.find_first_of("./") != std::string::npos;
}

constexpr std::string_view kTextCnn = "textcnn", kResnet20 = "resnet20", kMlp = "mlp",
                           kLayerFile = "FILE.json";  // stands for any file of layers
constexpr std::string_view kWorkloads[] = {kTextCnn, kResnet20, kMlp, kLayerFile};

// Options that mean something to these workloads only.
struct OwnOption {
  std::string_view option;
  std::vector<std::string_view> workloads;
};

Result<void> check_own_options(const std::vector<std::string>& given, std::string_view workload) {
  static const std::vector<OwnOption> options = {
      {"--docs", {kTextCnn}},
      {"--docs-format", {kTextCnn}},
      {"--embed", {kTextCnn}},
      {"--padding", {kTextCnn}},
      {"--shape", {kTextCnn}},
      {"--loops", {kTextCnn}},
      {"--against", {kResnet20, kLayerFile}},
      {"--images", {kMlp}},
      {"--labels", {kMlp}},
      {"--test-images", {kMlp}},
      {"--test-labels", {kMlp}},
      {"--epochs", {kMlp}},
      {"--batch", {kMlp}},
  };
  for (const OwnOption& own : options) {
    const auto has = [](const auto& names, const auto& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!has(given, own.option) || has(own.workloads, workload)) continue;
    return usage_error(fmt::format("{} means nothing to the workload {}", own.option, workload),
                       fmt::format("it is for {}", fmt::join(own.workloads, ", ")));
  }
  return {};
}

Result<void> choose_workload(ProfileFlags& flags, ProfileOptions& options) {
  const std::string_view name = is_layer_file(flags.workload) ? kLayerFile : flags.workload;
  if (auto done = check_own_options(flags.given, name); !done) return done;
  if (flags.measure.machine.threads.size() > 1 && name != kTextCnn) {
    return usage_error(fmt::format("--threads takes one number for the workload {}", name),
                       fmt::format("side by side is for {}", kTextCnn));
  }
  if (name == kTextCnn) {
    flags.text_cnn.variants = std::move(flags.variants);
    options.workload = std::move(flags.text_cnn);
  } else if (name == kMlp) {
    flags.mlp.variants = std::move(flags.variants);
    options.workload = std::move(flags.mlp);
  } else if (name == kResnet20 || name == kLayerFile) {
    flags.network.network = flags.workload;
    flags.network.variants = std::move(flags.variants);
    options.workload = std::move(flags.network);
  } else {
    const std::string near = did_you_mean(nearest(flags.workload, std::span(kWorkloads)));
    return usage_error(fmt::format("unknown workload '{}'", flags.workload),
                       near.empty() ? fmt::format("known: {}", fmt::join(kWorkloads, ", ")) : near);
  }
  return {};
}

Result<ProfileOptions> judge(const Typed& typed) {
  ProfileFlags flags;
  auto done = set_values<ProfileFlags>(kOptions, typed.values, flags);
  if (!done) return error_of(done);
  flags.given = given_names<ProfileFlags>(kOptions, typed.values);
  if (auto fits = check_memory(flags.text_cnn.shape, memory_bytes()); !fits) {
    return error_of(fits);
  }
  if (!flags.text_cnn.docs && flags.text_cnn.docs_format != DocsFormat::kAuto) {
    return usage_error("--docs-format needs --docs", "name the file with --docs FILE");
  }
  if (auto fits = check_image_files(flags.mlp); !fits) return error_of(fits);
  if (typed.verbose && typed.quiet) return usage_error("--verbose and --quiet exclude each other");
  MeasureOptions& measure = flags.measure;
  measure.machine.ladder = !typed.no_ladder;
  measure.regions.overhead = typed.overhead;
  const auto given = [&](const char* name) {
    return std::find(flags.given.begin(), flags.given.end(), name) != flags.given.end();
  };
  if (given("--trace-calls") && measure.regions.trace.empty() && !measure.regions.overhead) {
    return usage_error("--trace-calls needs --trace", "name the file with --trace FILE.json");
  }
  measure.quiet = typed.quiet;
  ProfileOptions options;
  if (auto chosen = choose_workload(flags, options); !chosen) return error_of(chosen);
  options.measure = std::move(measure);
  options.require_optimal_blas = flags.require_optimal_blas;
  options.require_counters = flags.require_counters;
  return options;
}

}  // namespace

std::vector<ValueOption<ProfileFlags>> profile_rows(std::span<const std::string_view> names) {
  std::vector<ValueOption<ProfileFlags>> rows;
  for (const ValueOption<ProfileFlags>& row : kOptions)
    if (std::find(names.begin(), names.end(), row.names) != names.end()) rows.push_back(row);
  return rows;
}

Action declare_profile(CLI::App& app, std::function<Result<int>(const ProfileOptions&)> run) {
  auto typed = std::make_shared<Typed>();
  declare_values<ProfileFlags>(app, kOptions, typed->values);
  declare_flag(app, "--no-ladder", kMeasure,
               "Skip comparing the BLAS with its other core types, which\n"
               "takes up to 2 s. Default: compare.",
               typed->no_ladder);
  declare_flag(app, "--overhead", kRegions,
               "Measure what counting, sampling and tracing cost in time and\n"
               "memory, on the same work by turns. Default: do not.",
               typed->overhead);
  declare_flag(app, "--full", kReport, "Print all of the text report. Default: what matters most.",
               typed->full);
  declare_flag(app, "-v,--verbose", kReport, "Log each step on standard error. Default: off.",
               typed->verbose);
  declare_flag(app, "-q,--quiet", kReport, "Log errors only, show no progress. Default: off.",
               typed->quiet);
  app.footer(
      "\nText on a terminal has colour, unless the environment has NO_COLOR and it is not empty.");
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
