// The options of `hwprof profile`: those of every workload, and which of them the chosen one has.
#include "src/commands/profile/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "src/base/suggest.h"
#include "src/base/text.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/compare/turns.h"
#include "src/commands/profile/profile.h"
#include "src/commands/profile/shape.h"
#include "src/observe/proc/program_file.h"
#include "src/workloads/mlp/mlp.h"
#include "src/workloads/networks/layer_net.h"
#include "src/workloads/networks/text_cnn.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kMaxTraceCalls = 1U << 28;
constexpr std::uint64_t kMaxLoops = 1'000'000'000;
constexpr std::uint64_t kMaxRepeat = 100'000;  // all of them are kept
constexpr std::uint64_t kMaxEpochs = 1'000'000;
constexpr std::uint64_t kMaxBatch = 1'000'000;

constexpr cli::Choice<DocsFormat> kDocsFormats[] = {{"auto", DocsFormat::kAuto},
                                                    {"libmultilabel", DocsFormat::kLibMultiLabel},
                                                    {"lines", DocsFormat::kLines}};
constexpr cli::Choice<Padding> kPaddings[] = {{"own", Padding::kOwn}, {"batch", Padding::kBatch}};

constexpr std::string_view kTextCnn = "textcnn", kResnet20 = "resnet20", kMlp = "mlp",
                           kLayerFile = "FILE.json";  // stands for any file of layers
constexpr std::string_view kWorkloads[] = {kTextCnn, kResnet20, kMlp, kLayerFile};

// What shells offer for --variant: of every workload, each with the name of its own.
std::vector<cli::Candidate> variant_candidates() {
  std::vector<cli::Candidate> all;
  const auto add = [&all](std::string_view name, std::string_view workload) {
    const auto known = std::find_if(all.begin(), all.end(),
                                    [name](const auto& other) { return other.text == name; });
    if (known == all.end())
      all.push_back({std::string(name), std::string(workload)});
    else if (known->help.find(workload) == std::string::npos)
      known->help += fmt::format(", {}", workload);
  };
  for (const report::PassVariants& pass : text_cnn_passes())
    for (const auto& variant : pass.variants) add(variant.second, kTextCnn);
  for (const NetForm& form : net_forms()) add(form.name, kResnet20);
  for (const std::string_view name : mlp_variants()) add(name, kMlp);
  return all;
}

// Everything that can be typed, whichever workload it is for.
struct Typed {
  std::string workload = std::string(kTextCnn);
  std::vector<std::string> variants;
  TextCnnOptions text_cnn;
  NetworkOptions network;
  MlpOptions mlp;
  ProfileOptions profile;
};

// Options that mean something to these workloads only.
struct OwnOptions {
  std::vector<std::string_view> workloads;
  std::vector<cli::Option> options;
};

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

OwnOptions declare_text_cnn(cli::Options& options, TextCnnOptions& to) {
  OwnOptions own{.workloads = {kTextCnn}, .options = {}};
  const auto docs =
      options.value("--docs", "FILE", to.docs, cli::any_text,
                    "Classify the documents of FILE (\"-\": standard input). Default: synthetic "
                    "ones, mean length 123.9 words as on rcv1.");
  const auto docs_format =
      options
          .value("--docs-format", "FORMAT", to.docs_format, cli::choice(kDocsFormats),
                 "Read FILE as libmultilabel ([ID]<TAB>labels<TAB>text) or lines (one document a "
                 "line). Default: auto, by its TABs.")
          .needs(docs);
  const auto embed = options.value("--embed", "FILE", to.embed, cli::any_text,
                                   "Take word vectors from FILE in GloVe's text format. Default: "
                                   "drawn from a hash of each word.");
  const auto padding = options.value(
      "--padding", "own|batch", to.padding, cli::choice(kPaddings),
      "Run each document at its own length, or padded to the longest of the batch as PyTorch "
      "programs do. Default: own.");
  const auto read_shape = [](const std::string&, const std::string& text) -> Result<ShapeOptions> {
    TRY(auto shape, parse_shape(text));
    TRY(check_memory(shape, memory_bytes()));
    return shape;
  };
  const auto shape =
      options
          .value("--shape", "SPEC", to.shape, read_shape,
                 "Set sizes: k (or filter_sizes=2+4+8), d_e, d_c, n, l, batch. Default: "
                 "k=2,d_e=300,d_c=128,l=103,batch=64, and of the documents each its own n "
                 "(words).")
          .adds_up();
  own.options = {docs, docs_format, embed, padding, shape};
  return own;
}

OwnOptions declare_mlp(cli::Options& options, MlpOptions& to) {
  auto images = options.value("--images", "FILE", to.images, cli::any_text,
                              "mlp: learn from the images of FILE, as MNIST has them (IDX, plain "
                              "or gzip). Default: generated digits.");
  auto labels = options.value("--labels", "FILE", to.labels, cli::any_text,
                              "mlp: take the labels of --images from FILE. Default: of the "
                              "generated digits.");
  auto test_images = options.value(
      "--test-images", "FILE", to.test_images, cli::any_text,
      "mlp: judge the accuracy on the images of FILE, and --test-labels. Default: on the last "
      "sixth of the images, which is not learnt.");
  auto test_labels = options.value("--test-labels", "FILE", to.test_labels, cli::any_text,
                                   "mlp: take the labels of --test-images from FILE. Default: of "
                                   "the last sixth.");
  // In pairs, and held-out ones beside some to learn from.
  images.needs(labels);
  labels.needs(images);
  test_images.needs(test_labels).needs(images);
  test_labels.needs(test_images);
  const auto epochs = options.value("--epochs", "N", to.epochs, cli::whole(1, kMaxEpochs),
                                    "mlp: go through the images N times, or until the time budget "
                                    "ends. Default: 10.");
  const auto batch = options.value("--batch", "N", to.batch, cli::whole(1, kMaxBatch),
                                   "mlp: learn from N images a step. Default: 100.");
  return {.workloads = {kMlp},
          .options = {images, labels, test_images, test_labels, epochs, batch}};
}

void declare_regions(cli::Options& options, RegionOptions& to) {
  cli::region_view(options, to.view);
  options.value("--regions", "FILE", to.csv, cli::file_in(".csv"),
                "Write the table to FILE.csv, too. Default: do not.");
  const auto trace = cli::trace(options, to.trace);
  const auto trace_calls =
      options.value("--trace-calls", "N", to.trace_calls, cli::whole(1, kMaxTraceCalls),
                    "Keep the last N calls of a thread for it. Default: 65536.");
  const auto overhead =
      options.flag("--overhead", to.overhead,
                   "Measure what counting, sampling and tracing cost in time and memory, on the "
                   "same work, interleaved. Default: do not.");
  options.check([trace, trace_calls, overhead]() -> Result<void> {
    if (!trace_calls.given() || trace.given() || overhead.given()) return {};
    return usage_error("--trace-calls needs --trace", "name the file with --trace FILE.json");
  });
}

// No name of a workload has a dot or a slash; "-" is standard input, as everywhere.
bool is_layer_file(const std::string& workload) {
  return workload == "-" || workload.find_first_of("./") != std::string::npos;
}

Result<void> check_own_options(const std::vector<OwnOptions>& all, std::string_view workload) {
  for (const OwnOptions& own : all) {
    if (std::find(own.workloads.begin(), own.workloads.end(), workload) != own.workloads.end())
      continue;
    for (const cli::Option& option : own.options) {
      if (!option.given()) continue;
      return usage_error(
          fmt::format("{} means nothing to the workload {}", option.name(), workload),
          fmt::format("it is for {}", fmt::join(own.workloads, ", ")));
    }
  }
  return {};
}

// The workload that is named, with its own options.
Result<void> choose_workload(Typed& typed, const std::vector<OwnOptions>& own) {
  const std::string_view name = is_layer_file(typed.workload) ? kLayerFile : typed.workload;
  if (std::find(std::begin(kWorkloads), std::end(kWorkloads), name) == std::end(kWorkloads)) {
    const std::string near = did_you_mean(nearest(typed.workload, std::span(kWorkloads)));
    return usage_error(fmt::format("unknown workload '{}'", typed.workload),
                       near.empty() ? fmt::format("known: {}", fmt::join(kWorkloads, ", ")) : near);
  }
  TRY(check_own_options(own, name));
  if (typed.profile.measure.machine.threads.size() > 1 && name != kTextCnn) {
    return usage_error(fmt::format("--threads takes one number for the workload {}", name),
                       fmt::format("side by side is for {}", kTextCnn));
  }
  if (name == kTextCnn) {
    typed.text_cnn.variants = typed.variants;
    typed.profile.workload = typed.text_cnn;
  } else if (name == kMlp) {
    typed.mlp.variants = typed.variants;
    typed.profile.workload = typed.mlp;
  } else {
    typed.network.network = typed.workload;
    typed.network.variants = typed.variants;
    typed.profile.workload = typed.network;
  }
  return {};
}

}  // namespace

std::shared_ptr<ProfileOptions> declare_profile(cli::Options& options) {
  auto typed = std::make_shared<Typed>();
  MeasureOptions& measure = typed->profile.measure;
  options.group(cli::kWork);
  options
      .value("--workload", "NAME|FILE.json", typed->workload, cli::any_text,
             "Run this workload: textcnn, resnet20, mlp (learns digits), or the layers of a "
             "FILE.json; hwprof workloads lists them. Default: textcnn.")
      .completes(cli::offer(std::span(kWorkloads).first<std::size(kWorkloads) - 1>()));
  OwnOptions text_cnn = declare_text_cnn(options, typed->text_cnn);
  OwnOptions mlp = declare_mlp(options, typed->mlp);
  options
      .value("--variant", "LIST", typed->variants, cli::parse_list,
             "Run only these variants, separated by commas; of a network of layers these forms: "
             "eager, fused, blas, reference. Default: all.")
      .adds_up()
      .completes(variant_candidates);
  declare_inputs(options, measure);
  declare_machine(options, measure.machine);
  declare_time_budget(options, measure.budget);
  options.value("--repeat", "N", measure.budget.repeat, cli::whole(1, kMaxRepeat),
                "Repeat the work N times and record each, however long it takes: of each row a "
                "timed slice, of a network of layers an inference; best, median, 95 % interval, "
                "outliers. Default: as many as the time budget has room for.");
  text_cnn.options.push_back(
      options.value("--loops", "N", typed->text_cnn.loops, cli::whole(1, kMaxLoops),
                    "Time N calls of each row at once, as timeit does. Default: as many as take "
                    "5 ms."));
  cli::no_ladder(options, measure.machine.ladder);
  const OwnOptions counted{.workloads = {kTextCnn, kResnet20, kLayerFile},
                           .options = declare_exact(options, measure)};
  declare_regions(options, measure.regions);
  options.group(cli::kReport);
  cli::flame(options, measure.regions.flame);
  const OwnOptions network{
      .workloads = {kResnet20, kLayerFile},
      .options = {options.value("--against", "FILE", typed->network.against, cli::any_text,
                                "Print another table's times beside those of the layers; FILE "
                                "has index,layer,seconds. Default: none.")}};
  options.group(cli::kBudget);
  options.value("--against-binary", "HWPROF", typed->profile.against_binary, cli::any_text,
                "Run this profile and that of another hwprof by turns, 8 times each, and report "
                "the ratio of each row, as hwprof compare does; the other one is the baseline, and "
                "the time budget is that of a run. Default: profile.");
  cli::require(options,
               {{"optimal-blas", &typed->profile.require_optimal_blas},
                {"counters", &typed->profile.require_counters}},
               "Exit with 1 unless optimal-blas, or counters (every event counted), holds; both: "
               "optimal-blas,counters. Default: neither.");
  cli::output(options, measure.output,
              {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  options.footer(
      "Text on a terminal has colour, unless the environment has NO_COLOR and it is\n"
      "not empty.");
  options.check([typed, own = std::vector<OwnOptions>{text_cnn, mlp, network, counted}] {
    return choose_workload(*typed, own);
  });
  return {typed, &typed->profile};
}

namespace {

// What was typed, for a run that is one of many: its report is JSON on standard output.
std::vector<std::string> turn_arguments(const std::vector<std::string>& words) {
  constexpr std::string_view kWithValue[] = {"--against-binary", "--format", "--output", "-o",
                                             "--report"};
  constexpr std::string_view kFlags[] = {"--json", "--full", "-q", "--quiet"};
  std::vector<std::string> kept;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view name = word.substr(0, word.find('='));
    if (std::find(std::begin(kFlags), std::end(kFlags), word) != std::end(kFlags)) continue;
    if (std::find(std::begin(kWithValue), std::end(kWithValue), name) != std::end(kWithValue)) {
      if (name == word) ++i;
    } else if (!word.starts_with("-o")) {
      kept.push_back(words[i]);
    }
  }
  kept.insert(kept.end(), {"--quiet", "--format", "json"});
  return kept;
}

Result<int> profile_by_turns(const ProfileOptions& profile) {
  const std::vector<std::string> arguments = turn_arguments(profile.measure.command);
  const auto command = [&arguments](const std::string& binary) {
    std::vector<std::string> words = {binary};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return shell_command(words);
  };
  TRY(const std::string other, find_program(profile.against_binary));
  std::error_code failed;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  if (failed) {
    return environment_error(
        failed.value(), fmt::format("hwprof cannot find its own program: {}", failed.message()));
  }
  constexpr std::size_t kRunsASide = 8;
  return compare_by_turns({.baseline = command(other), .other = command(self), .runs = kRunsASide},
                          profile.measure.output);
}

}  // namespace

cli::Action profile_command(cli::Options& options) {
  auto to = declare_profile(options);
  return [to](const cli::CommandLine& line) {
    to->measure.quiet = line.verbosity == cli::Verbosity::kQuiet;
    to->measure.command = line.words;
    return to->against_binary.empty() ? run_profile(*to) : profile_by_turns(*to);
  };
}

}  // namespace hwprof
