#include "src/model/record.h"

#include <algorithm>
#include <limits>

namespace hwprof::model {
namespace {

// Only what a workload has is written of it.
bool has_layers(const Workload& work) { return work.layers > 0; }
bool has_documents(const Workload& work) { return work.layers == 0 && work.documents_total > 0; }

std::optional<std::string> not_judged_because(const Complexity& complexity) {
  return complexity.agrees ? std::nullopt : std::optional(complexity.text);
}

}  // namespace

std::vector<ForwardPass> fastest_passes(std::vector<ForwardPass> passes) {
  if (passes.empty()) return passes;
  std::sort(passes.begin(), passes.end(),
            [](const ForwardPass& a, const ForwardPass& b) { return a.time_ns < b.time_ns; });
  // Of a pass with too few slices for an interval: runs differ by less (docs/trust.md).
  constexpr double kUnknownSpread = 2;
  const double high_ns = passes.front().high_ns.value_or(kUnknownSpread * passes.front().time_ns);
  const auto slower = [high_ns](const ForwardPass& pass) {
    return pass.low_ns.value_or(pass.time_ns / kUnknownSpread) > high_ns;
  };
  passes.erase(std::remove_if(passes.begin() + 1, passes.end(), slower), passes.end());
  return passes;
}

namespace {

// Sums over the rows of a pass on one number of threads.
struct ThreadedSums {
  double time_ns = 0, base_ns = 0;
  double by_turns_ns = 0;  // by the speed-ups, in which no drift of the machine is
  double longest_ns = 0;   // by their intervals; infinite where a row has none
};
std::optional<ThreadedSums> sums_of(const Scaling& scaling, const PassVariants& pass,
                                    std::size_t count, std::size_t base) {
  ThreadedSums sums;
  for (const ScalingRow& row : scaling.rows) {
    if (!pass.has(row.op, row.variant)) continue;
    if (count >= row.points.size() || base >= row.points.size()) return std::nullopt;
    const ScalingPoint& point = row.points[count];
    if (!point.time_ns || !point.speedup || !row.points[base].time_ns) return std::nullopt;
    sums.time_ns += *point.time_ns;
    sums.base_ns += *row.points[base].time_ns;
    sums.by_turns_ns += *row.points[base].time_ns / *point.speedup;
    sums.longest_ns += point.speedup_low.value_or(0) > 0
                           ? *row.points[base].time_ns / *point.speedup_low
                           : std::numeric_limits<double>::infinity();
  }
  return sums.time_ns > 0 ? std::optional(sums) : std::nullopt;
}

}  // namespace

std::optional<ThreadedPass> fastest_threaded_pass(const Scaling& scaling,
                                                  const std::vector<ForwardPass>& passes) {
  const auto base = static_cast<std::size_t>(
      std::find_if(scaling.counts.begin(), scaling.counts.end(),
                   [&](const auto& count) { return count.threads == scaling.base_threads; }) -
      scaling.counts.begin());
  std::optional<ThreadedPass> fastest;
  for (const ForwardPass& pass : passes) {
    for (std::size_t i = 0; i < scaling.counts.size(); ++i) {
      const auto sums = sums_of(scaling, pass, i, base);
      if (!sums || (fastest && fastest->time_ns <= sums->time_ns)) continue;
      fastest = {pass.name, scaling.counts[i].threads, sums->time_ns,
                 sums->base_ns / sums->by_turns_ns, i != base && sums->longest_ns < sums->base_ns};
    }
  }
  return fastest;
}

template <>
const Record& record<CpuUser>() {
  static constexpr Field kFields[] = {
      field<&CpuUser::pid>("pid", "", ""),
      field<&CpuUser::name>("name", "", "as `ps -o comm`"),
      field<&CpuUser::share>("share", "", "of one CPU"),
  };
  static constexpr Record kRecord{"CpuUser", "Another process where work was measured.", kFields};
  return kRecord;
}

template <>
const Record& record<Pin>() {
  static constexpr Field kFields[] = {
      field<&Pin::requested>("requested", "", "CPUs of `--pin`; empty: not given"),
      field<&Pin::actual>("actual", "", "CPUs on which it may run").column("pinned_cpus"),
      field<&Pin::migrations>("migrations", "",
                              "of the calling thread: slices that ended on another CPU"),
      field<&Pin::involuntary_switches_per_s>(
          "involuntary_switches_per_s", "1/s",
          "how often measured code had to yield its CPU; null before the run"),
      field<&Pin::on_cpu>("on_cpu", "", "share of the measured wall time in which work ran"),
      field<&Pin::others>("others", "",
                          "processes that used these CPUs meanwhile and still ran at the end, the "
                          "three that used most"),
  };
  static constexpr Record kRecord{"Pin", "Where it ran.", kFields};
  return kRecord;
}

template <>
const Record& record<Bandwidth>() {
  static constexpr Field kFields[] = {
      field<&Bandwidth::level>("level", "", "`L1`, `L2`, `L3`, `memory`; null: of a size")
          .null_if_empty(),
      field<&Bandwidth::working_set_bytes>("working_set_bytes", "B", ""),
      field<&Bandwidth::read_gbs>("read_gbs", "1e9 B/s", ""),
      field<&Bandwidth::copy_gbs>("copy_gbs", "1e9 B/s", ""),
      field<&Bandwidth::triad_gbs>("triad_gbs", "1e9 B/s", ""),
  };
  static constexpr Record kRecord{"Bandwidth", "Of one level of memory.", kFields};
  return kRecord;
}

template <>
const Record& record<Peak>() {
  static constexpr Field kFields[] = {
      field<&Peak::f32_gflops>("f32_gflops", "GFLOP/s",
                               "float32 FMA peak, the best of `by_isa`, measured")
          .column("peak_gflops"),
      field<&Peak::isa>("isa", "", "where it was reached").column("peak_isa"),
      field<&Peak::threads>("threads", "", "CPUs that these are the sum of"),
      field<&Peak::by_isa>("by_isa", "GFLOP/s", "of each vector width"),
      by_name<&Peak::bandwidth, &Bandwidth::level, &Bandwidth::read_gbs>(
          "bandwidth_gbs", "1e9 B/s", "read bandwidth of `L1`, `L2`, `L3`, `memory`"),
      field<&Peak::bandwidth>("bandwidth", "", "the same in full"),
      field<&Peak::bandwidth_by_size>("bandwidth_by_size", "",
                                      "over arrays of 8 KiB a thread and more: what rooflines "
                                      "take, at a row's own working set"),
  };
  static constexpr Record kRecord{"Peak", "What the pinned CPUs can do.", kFields};
  return kRecord;
}

template <>
const Record& record<ComplexityRow>() {
  static constexpr Field kFields[] = {
      field<&ComplexityRow::op>("op", "", ""),
      field<&ComplexityRow::cost_units>("cost_units", "", ""),
      field<&ComplexityRow::model_share>("model_share", "", "by cost units"),
      field<&ComplexityRow::roofline_share>("roofline_share", "",
                                            "by roofline time; null without a peak"),
      field<&ComplexityRow::time_share>("time_share", "", "measured"),
      field<&ComplexityRow::ceiling_factor>("ceiling_factor", "",
                                            "measured time over roofline time"),
  };
  static constexpr Record kRecord{"ComplexityRow", "One operation of the pass.", kFields};
  return kRecord;
}

template <>
const Record& record<FarVariant>() {
  static constexpr Field kFields[] = {
      field<&FarVariant::op>("op", "", ""),
      field<&FarVariant::variant>("variant", "", ""),
      field<&FarVariant::shape>("shape", "", "of the row"),
      field<&FarVariant::time_ns>("time_ns", "ns", "median"),
      field<&FarVariant::factor>("factor", "", "time over roofline time"),
      field<&FarVariant::causes>("causes", "",
                                 "sentences, each of a cause that was timed alone; empty: no "
                                 "cause was measured"),
  };
  static constexpr Record kRecord{
      "FarVariant", "An optimised variant that takes several times its roofline time.", kFields};
  return kRecord;
}

template <>
const Record& record<Complexity>() {
  static constexpr Field kFields[] = {
      field<&Complexity::agrees>("agrees", "", "null: not judged"),
      computed<not_judged_because>("reason", "", "why it was not judged").null_if_empty(),
      field<&Complexity::text>("text", "", "the verdict in words").null_if_empty(),
      field<&Complexity::pass>("pass", "", "the forward pass that the shares are of")
          .null_if_empty(),
      field<&Complexity::findings>("findings", "", "a sentence each; empty where it agrees"),
      field<&Complexity::far>("far_from_ceiling", "",
                              "variants of all passes; they do not change the verdict"),
      field<&Complexity::rows>("rows", "", ""),
  };
  static constexpr Record kRecord{
      "Complexity", "Whether the measured times are those of the complexity analysis.", kFields};
  return kRecord;
}

template <>
const Record& record<ForwardPass>() {
  static constexpr Field kFields[] = {
      field<&ForwardPass::name>("name", "", ""),
      field<&ForwardPass::time_ns>("time_ns", "ns", "the sum of the medians of its layers"),
      interval<&ForwardPass::low_ns, &ForwardPass::high_ns>(
          "ci95", "ns",
          "the sums of the ends of the layers' intervals within this run; null: one has none"),
      field<&ForwardPass::variants>("variants", "", "of each operation"),
  };
  static constexpr Record kRecord{"Pass", "Variants that make up one forward pass.", kFields};
  return kRecord;
}

template <>
const Record& record<Workload>() {
  static constexpr Field kFields[] = {
      field<&Workload::name>("name", "", "`textcnn`, `resnet20`, `mlp` or a file"),
      field<&Workload::layers>("layers", "", "their number; only of a network of layers")
          .only_if<has_layers>(),
      field<&Workload::documents>(
          "documents", "", "where they come from; only of the text CNN, as what follows `shape`")
          .only_if<has_documents>(),
      field<&Workload::embedding>("embedding", "", "where the vectors come from")
          .only_if<has_documents>(),
      field<&Workload::shape>("shape", "", "sizes: numbers, but for several filter sizes (`2+4+8`)")
          .with(Field::kNumbersInText),
      field<&Workload::padding>("padding", "", "of documents of different length")
          .only_if<has_documents>(),
      field<&Workload::padding_factor>("padding_factor", "",
                                       "convolution positions executed over those of own length")
          .only_if<has_documents>(),
      field<&Workload::batch_padding_factor>("batch_padding_factor", "",
                                             "what padding to the longest of the batch would cost")
          .only_if<has_documents>(),
      field<&Workload::documents_used>("documents_used", "", "").only_if<has_documents>(),
      field<&Workload::documents_total>("documents_total", "", "").only_if<has_documents>(),
      field<&Workload::short_documents>("short_documents", "", "padded with zeros to k")
          .only_if<has_documents>(),
      field<&Workload::mean_length>("mean_length", "words", "").only_if<has_documents>(),
      field<&Workload::min_length>("min_length", "words", "").only_if<has_documents>(),
      field<&Workload::max_length>("max_length", "words", "").only_if<has_documents>(),
  };
  static constexpr Record kRecord{"Workload", "What was run.", kFields};
  return kRecord;
}

template <>
const Record& record<Warning>() {
  static constexpr Field kFields[] = {
      field<&Warning::code>("code", "", "for programs"),
      field<&Warning::text>("text", "", "for people"),
  };
  static constexpr Record kRecord{"Warning", "", kFields};
  return kRecord;
}

template <>
const Record& record<Profile>() {
  static constexpr Field kFields[] = {
      field<&Profile::version>("hwprof.version", "", "of hwprof").column("hwprof_version"),
      field<&Profile::command>("command", "", "its words"),
      field<&Profile::started_utc>("started_utc", "", "ISO 8601").column("started_utc"),
      field<&Profile::elapsed_s>("elapsed_s", "s", "of the whole run"),
      field<&Profile::partial>("partial", "", "interrupted: what was measured so far")
          .column("partial"),
      field<&Profile::machine>("machine", "", "").columns_inside(),
      field<&Profile::pin>("pin", "", "").columns_inside(),
      field<&Profile::threads>("threads", "", "that compute"),
      field<&Profile::simd_target>("simd_target", "", "what the simd variants use: `AVX3`")
          .null_if_empty(),
      field<&Profile::workload>("workload", "", ""),
      field<&Profile::peak>("peak", "", "null: `peak_reason`").columns_inside(),
      field<&Profile::peak_reason>("peak_reason", "", "why there is no peak").null_if_empty(),
      field<&Profile::blas>("blas", "", "").columns_inside(),
      field<&Profile::rows>("rows", "", "one for each operation and variant, and each filter size"),
      field<&Profile::passes>("passes", "", "those all of whose layers were measured"),
      field<&Profile::complexity>("complexity", "", ""),
      field<&Profile::regions>("regions", "",
                               "the work once more in named regions, after the rows were measured "
                               "without them; null: none"),
      field<&Profile::scaling>(
          "scaling", "",
          "null unless `--threads` has several numbers; `rows` then has the rows of every count, "
          "while `threads`, `peak`, `passes` and `complexity` are those of the first"),
      field<&Profile::executed>(
          "executed", "",
          "where the CPU time of passes of their own went, sampled after all else was measured: "
          "only of a page, and with `--flame`")
          .left_out_if_absent(),
      field<&Profile::peers>("peers", "",
                             "of bench/, where `hwprof report` was given its JSON beside this")
          .left_out_if_absent(),
      field<&Profile::warnings>("warnings", "", ""),
      spliced<&Profile::layers>(),
      field<&Profile::training>("training", "", "only of a workload that learns")
          .left_out_if_absent(),
  };
  static constexpr Record kRecord{"Profile", "What `hwprof profile` found out.", kFields,
                                  "hwprof.profile/1"};
  return kRecord;
}

}  // namespace hwprof::model
