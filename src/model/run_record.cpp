#include "src/model/run_record.h"

namespace hwprof::model {
namespace {

std::optional<int> exit_code_of(const Run& run) {
  return run.attached_pid ? std::nullopt : std::optional(run.exit);
}
void take_exit(Run& run, const Scalar& from) {
  if (const auto code = number_of(from)) run.exit = static_cast<int>(*code);
}
std::uint64_t run_count(const Repeats& repeats) { return repeats.runs.size(); }

}  // namespace

template <>
const Record& record<TimedRun>() {
  static constexpr Field kFields[] = {
      field<&TimedRun::page_faults>("page_faults", "",
                                    "of the command and the children that it waited for"),
      field<&TimedRun::major_faults>("major_faults", "", "those that read from a disk"),
      field<&TimedRun::voluntary_switches>("voluntary_switches", "", ""),
      field<&TimedRun::involuntary_switches>("involuntary_switches", "", ""),
      field<&TimedRun::waited_s>(
          "waited_s", "s", "its first thread, ready to run, for a CPU; null: `waited_reason`"),
      field<&TimedRun::migrations>("migrations", "", "null: `migrations_reason`"),
      field<&TimedRun::peak_gflops>(
          "peak_gflops", "GFLOP/s",
          "mean of an FMA slice before and after it; null: `peak_reason`"),
  };
  static constexpr Record kRecord{"TimedRun", "A run that was timed and not observed.", kFields};
  return kRecord;
}

template <>
const Record& record<RepeatedTime>() {
  static constexpr Field kFields[] = {
      field<&RepeatedTime::samples>("samples", "s", "raw, in the order of the runs"),
      field<&RepeatedTime::best>("best", "s", "null without a sample"),
      field<&RepeatedTime::median>("median", "s", ""),
      interval<&RepeatedTime::ci95_low, &RepeatedTime::ci95_high>(
          "ci95", "s", "of the median; null below six samples")
          .with(Field::kNullUnlessWhole),
      field<&RepeatedTime::worst>("worst", "s", ""),
  };
  static constexpr Record kRecord{"RepeatedTime", "Over the runs.", kFields};
  return kRecord;
}

template <>
const Record& record<RepeatOutlier>() {
  static constexpr Field kFields[] = {
      field<&RepeatOutlier::index>("index", "", "in the samples, from 0"),
      field<&RepeatOutlier::wall_s>("wall_s", "s", ""),
      field<&RepeatOutlier::above_median>("above_median", "", "0.1: 10 % longer"),
      field<&RepeatOutlier::cause>("cause", "", "likely ones, or what speaks for none"),
  };
  static constexpr Record kRecord{"RepeatOutlier", "", kFields};
  return kRecord;
}

template <>
const Record& record<Repeats>() {
  static constexpr Field kFields[] = {
      computed<run_count>("count", "", "measured runs"),
      field<&Repeats::wanted>("wanted", "", "those of `--repeat`"),
      field<&Repeats::warmup>("warmup", "", "those of `--warmup`"),
      field<&Repeats::wall_s>("wall_s", "s", ""),
      field<&Repeats::user_s>("user_s", "s", ""),
      field<&Repeats::system_s>("system_s", "s", ""),
      field<&Repeats::runs>("runs", "", "of each sample"),
      field<&Repeats::waited_reason>("waited_reason", "", "").null_if_empty(),
      field<&Repeats::migrations_reason>("migrations_reason", "", "").null_if_empty(),
      field<&Repeats::peak_reason>("peak_reason", "", "").null_if_empty(),
      field<&Repeats::outliers>("outliers", "", ""),
      field<&Repeats::stopped>("stopped", "", "why `count` is below `wanted`").null_if_empty(),
      field<&Repeats::notes>("notes", "", "how it was measured, and what could not be said"),
  };
  static constexpr Record kRecord{
      "Repeats",
      "Runs that were timed and not observed. All other keys are of the observed run, which came "
      "before them, except `exit`, which is the last run's.",
      kFields};
  return kRecord;
}

template <>
const Record& record<TriedSetting>() {
  static constexpr Field kFields[] = {
      field<&TriedSetting::tried>("tried", "", "the change of the environment; null: none")
          .null_if_empty(),
      field<&TriedSetting::changes>("changes", "", "`NAME=value`; `NAME` alone: unset"),
      field<&TriedSetting::job_line>("job_line", "", "for a shell").null_if_empty(),
      field<&TriedSetting::rounds>("rounds", "", "in which it and the program as it is ran"),
      field<&TriedSetting::wall_ratio>(
          "wall_ratio", "",
          "time with it over time as it is: low, estimate, high; empty: `ratio_reason`"),
      field<&TriedSetting::cpu_ratio>("cpu_ratio", "", "the same of user and system time"),
      field<&TriedSetting::ratio_reason>("ratio_reason", "", "").null_if_empty(),
      field<&TriedSetting::wall_s>("wall_s", "s", "raw, a round each"),
      field<&TriedSetting::cpu_s>("cpu_s", "s", "the same of user and system time"),
      field<&TriedSetting::same_output>("same_output", "",
                                        "standard output and exit code; null: `output_reason`"),
      field<&TriedSetting::output_reason>("output_reason", "", "").null_if_empty(),
      field<&TriedSetting::stopped>("stopped", "", "why it has fewer rounds than others")
          .null_if_empty(),
  };
  static constexpr Record kRecord{
      "TriedSetting", "A changed environment, in runs by turns with the program as it is.",
      kFields};
  return kRecord;
}

template <>
const Record& record<Fix>() {
  static constexpr Field kFields[] = {
      spliced_base<Fix, TriedSetting>(),
      field<&Fix::result>("result", "", "what it comes to, one sentence"),
      field<&Fix::worth_it>("worth_it", "", "`job_line` belongs into the job script"),
      field<&Fix::others>("others", "", "settings of `--try` that are not the one above"),
      field<&Fix::as_is_wall_s>("as_is.wall_s", "s", "raw, a round each"),
      field<&Fix::as_is_cpu_s>("as_is.cpu_s", "s", ""),
      field<&Fix::other_programs>("other_programs", "CPUs",
                                  "that they used during the rounds; null: not known"),
      field<&Fix::stopped_rounds>("stopped_rounds", "", "what ended the rounds early")
          .null_if_empty(),
      field<&Fix::notes>("notes", "", "how it was measured, and what could not be said"),
  };
  static constexpr Record kRecord{
      "Fix",
      "A fix, or the settings of `--try`, held against the program as it is. The keys of the first "
      "setting (the best, where one wins) stand here; `others` has the rest.",
      kFields};
  return kRecord;
}

template <>
const Record& record<Run>() {
  static constexpr Field kFields[] = {
      field<&Run::version>("hwprof.version", "", "of hwprof"),
      field<&Run::command>("command", "", "its words; of `attach` what /proc says"),
      field<&Run::attached_pid>("attached_pid", "", "the process, of `attach`"),
      field<&Run::detached>("detached", "", "of `attach`: the process went on"),
      field<&Run::started_utc>("started_utc", "", "ISO 8601"),
      computed<exit_code_of>("exit", "",
                             "as a shell has it: 128 + n for signal n; null of `attach`")
          .read_by<take_exit>(),
      field<&Run::wall_s>("wall_s", "s", "from execve to the end"),
      field<&Run::user_s>("user_s", "s", ""),
      field<&Run::system_s>("system_s", "s", ""),
      field<&Run::peak_rss_bytes>("peak_rss_bytes", "B", "of the largest process of the tree"),
      field<&Run::peak_rss_reason>("peak_rss_reason", "", "why it is null").null_if_empty(),
      field<&Run::slowed_by_observing>(
          "slowed_by_observing", "",
          "CPU time that watching calls added, over the program's own; null: below 0.05"),
      field<&Run::cpus_used>("cpus_used", "", "(user + system) / wall"),
      field<&Run::pinned>("pinned", "", "CPUs of `--pin`"),
      field<&Run::repeats>("repeats", "", "with `--repeat`, else null"),
      field<&Run::fix>("fix", "", "with `--try-fix` or `--try`, else null"),
      by_name<&Run::counters, &EventCount::name>(
          "counters", "", "by event, over all processes and threads; `calls` is 1"),
      field<&Run::blas>("blas", "", ""),
      field<&Run::threads>("threads", "", "null: not observed"),
      field<&Run::memory>("memory", "", "its large areas; null: not observed"),
      field<&Run::lines>("lines", "",
                         "of the program's source, with `--lines`; most CPU time first"),
      field<&Run::lines_known>("lines_known", "", "null: no `--lines`, or no sample"),
      field<&Run::regions>("regions", "", "that the program made through libhwprof; null: none"),
      field<&Run::modules>("modules", "", "with `--layers`, by name: most self time first"),
      field<&Run::module_types>("module_types", "",
                                "the same by type; `name` is the type, and `type` too"),
      field<&Run::module_hooks>("module_hooks", "", "with `--layers`, else null"),
      field<&Run::exact>("exact", "", "with `--exact`: the calls that were to be counted"),
      field<&Run::exact_reason>("exact_reason", "", "why there are none, or fewer than asked for")
          .null_if_empty(),
      field<&Run::machine>("machine", "", ""),
      field<&Run::warnings>("warnings", "",
                            "`code` is `processes-go-on`, `setuid`, `static`, `counters`, ..."),
  };
  static constexpr Record kRecord{"Run", "What `hwprof run` and `attach` found out of a program.",
                                  kFields, "hwprof.run/1"};
  return kRecord;
}

}  // namespace hwprof::model
