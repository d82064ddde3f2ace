#include "src/commands/compare/comparable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "counters/machine/affinity.h"
#include "src/base/text.h"
#include "src/commands/compare/report_file.h"
#include "src/measure/agreement.h"
#include "src/model/from_json.h"
#include "src/model/run_record.h"
#include "src/model/sweep_record.h"

namespace hwprof {
namespace {

using model::Profile, model::Run, model::Sweep;

constexpr const char* kNotOurs = "the file was not written by hwprof, or changed since";

// --- What ought to be the same in both files.

using Conditions = std::vector<std::pair<std::string, std::string>>;

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

template <class Values>
std::string words_of(const Values& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, " "));
}

void add_machine(const Machine& machine, const std::string& version, Conditions& to) {
  to.emplace_back("machine", or_none(machine.cpu_name));
  to.emplace_back("kernel", or_none(machine.kernel));
  to.emplace_back("hwprof", or_none(version));
}

void add_blas(const report::Blas& blas, Conditions& to) {
  to.emplace_back("library", or_none(blas.path));
  to.emplace_back("library-version", or_none(blas.version));
  to.emplace_back("core-type", or_none(blas.core));
  to.emplace_back("blas-threads", blas.threads ? fmt::format("{}", *blas.threads) : "none");
}

void add_place(const Profile& profile, Conditions& to) {
  to.emplace_back("pin", or_none(format_cpu_list(profile.pin.requested)));
  to.emplace_back("cpus", or_none(format_cpu_list(profile.pin.actual)));
  to.emplace_back("threads", fmt::format("{}", profile.threads));
  to.emplace_back("instruction-set", or_none(profile.simd_target));
  to.emplace_back("partial", profile.partial ? "yes" : "no");
}

Conditions conditions_of(const Profile& profile) {
  Conditions all;
  add_machine(profile.machine, profile.version, all);
  add_blas(profile.blas, all);
  all.emplace_back("environment", or_none(words_of(profile.blas.environment)));
  add_place(profile, all);
  all.emplace_back("workload", profile.workload.name);
  all.emplace_back("documents", or_none(profile.workload.documents));
  all.emplace_back("padding", std::string(model::name_of(profile.workload.padding)));
  return all;
}

Conditions conditions_of(const Run& run) {
  Conditions all;
  add_machine(run.machine, run.version, all);
  add_blas(run.blas, all);
  all.emplace_back("environment", or_none(words_of(run.blas.evidence.declared.environment)));
  all.emplace_back("pin", or_none(format_cpu_list(run.pinned)));
  all.emplace_back("command", shell_command(run.command));
  return all;
}

Conditions conditions_of(const Sweep& sweep) {
  Conditions all;
  add_machine(sweep.run.machine, sweep.run.version, all);
  add_blas(sweep.blas.value_or(report::ProfileBlas()), all);
  add_place(sweep.run, all);
  return all;
}

// --- The rows and their times.

bool is_time(double value) { return value > 0; }

std::string beside_load(const std::string& place, double on_cpu) {
  return fmt::format(
      "measured beside other load ({}: on its CPU {:.0f} % of the time): "
      "--accept-busy judges all the same",
      place.substr(0, place.rfind(": ")), 100 * on_cpu);
}

std::string busy_reason(const report::Row& row, const std::string& place) {
  if (row.on_cpu.value_or(1) < kMostlyOnCpu) return beside_load(place, *row.on_cpu);
  const auto kept = static_cast<std::uint64_t>(row.time_ns->samples);
  if (!row.disturbed && row.left_out.total() <= kept) return "";
  return fmt::format("measured beside other load ({}: {}): --accept-busy judges all the same",
                     place.substr(0, place.rfind(": ")),
                     row.disturbed
                         ? "too few of its slices were undisturbed"
                         : fmt::format("{} of {} slices were disturbed", row.left_out.total(),
                                       row.left_out.total() + kept));
}

// CPU time where a file has it: other programs do not move it.
Result<RunTimes> row_times(const report::Row& row, const std::string& place) {
  RunTimes sample;
  if (!row.time_ns) return sample;
  const std::string clock = place + (row.cpu_time_ns ? ".cpu_time_ns" : ".time_ns");
  sample.median_ns = work_ns(row);
  if (!is_time(*sample.median_ns))
    return usage_error(fmt::format("{} has no median above 0", clock), kNotOurs);
  for (const report::Slice& slice : row.time_ns->slices) {
    sample.ns.push_back(slice.ns);
    if (is_time(slice.peak_gflops.value_or(0))) sample.peak_gflops.push_back(*slice.peak_gflops);
  }
  if (row.cpu_time_ns) sample.ns = row.cpu_time_ns->slices;
  if (!std::all_of(sample.ns.begin(), sample.ns.end(), is_time))
    return usage_error(fmt::format("{}.slices is no list of times above 0", clock), kNotOurs);
  const bool compute = row.bound == report::Bound::kCompute;
  if (!compute || sample.peak_gflops.size() != sample.ns.size()) sample.peak_gflops.clear();
  sample.between = between_runs(row.bound, row.on_cpu);
  sample.busy = busy_reason(row, place);
  return sample;
}

struct RowNames {
  std::string group, name, label;
};

RowNames names_of(const report::Row& row) {
  if (row.op.empty() || row.variant.empty()) return {};
  return {fmt::format("{}  {}, {} thread{}", row.op, words_of(row.shape), row.threads,
                      row.threads == 1 ? "" : "s"),
          row.variant, row.op + " " + row.variant};
}

RowNames names_of(const report::LayerRow& layer) {
  if (layer.name.empty()) return {};
  const std::string numbered = fmt::format("{} {}", layer.index, layer.name);
  return {"layers", numbered, numbered};
}

// The operation may be that of all points.
RowNames names_of(const report::SweepPoint& point, const Sweep& sweep) {
  const std::string op = point.row.op.empty() ? sweep.op : point.row.op;
  const std::string variant = point.row.variant.empty() ? sweep.variant : point.row.variant;
  const std::string swept = words_of(point.at), held = words_of(sweep.held);
  if (op.empty() || swept.empty()) return {};
  std::string group = variant.empty() ? op : op + " " + variant;
  if (!held.empty()) group += "  " + held;
  return {std::move(group), swept, op + " " + swept};
}

void set_exact(ComparableRow& row, const std::optional<report::ExactCount>& count,
               const std::string& reason) {
  row.exact_asked = true;
  row.exact_reason = reason;
  if (!count) return;
  row.exact = ExactTotals{.instructions = count->instructions,
                          .flops = count->flops,
                          .bytes = count->bytes_loaded + count->bytes_stored};
}

// `place`: "a.json: rows[3]".
Result<void> add_row(RowNames names, const report::Row& row, const std::string& place,
                     Comparable& to) {
  if (names.name.empty()) return usage_error(fmt::format("{} has no name", place), kNotOurs);
  TRY(RunTimes time, row_times(row, place));
  to.rows.push_back(
      {std::move(names.group), std::move(names.name), std::move(names.label), {std::move(time)}});
  if (row.exact) set_exact(to.rows.back(), row.exact->count, row.exact->reason);
  return {};
}

Result<void> add_rows(const Profile& profile, Comparable& to) {
  const std::string& path = to.file.path;
  for (std::size_t i = 0; i < profile.rows.size(); ++i) {
    const report::Row& row = profile.rows[i];
    TRY(add_row(names_of(row), row, fmt::format("{}: rows[{}]", path, i), to));
  }
  if (!profile.layers || profile.layers->forms.empty()) return {};
  const std::vector<report::LayerRow>& layers = profile.layers->forms.front().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string place = fmt::format("{}: forms[0].layers[{}]", path, i);
    TRY(add_row(names_of(layers[i]), layers[i].row, place, to));
  }
  return {};
}

Result<void> add_rows(const Sweep& sweep, Comparable& to) {
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const report::SweepPoint& point = sweep.points[i];
    const std::string place = fmt::format("{}: points[{}]", to.file.path, i);
    TRY(add_row(names_of(point, sweep), point.row, place, to));
  }
  return {};
}

// Of a command and of its regions. A file has one command, so its rows are those of another file's
// command, whatever either is called.
constexpr const char* kWholeProgram = "the whole program";

std::vector<RunTimes> one_time(double seconds) {
  if (!is_time(seconds)) return {};
  return {{.median_ns = seconds * 1e9}};
}

// A process a repeat: each is a run.
Result<std::vector<RunTimes>> repeats_of(const Run& run, const std::string& path,
                                         const report::RepeatedTime& time) {
  std::vector<RunTimes> runs;
  for (std::size_t i = 0; i < time.samples.size(); ++i) {
    const double seconds = time.samples[i];
    if (!is_time(seconds)) {
      return usage_error(
          fmt::format("{}: repeats.wall_s.samples is no list of times above 0", path), kNotOurs);
    }
    RunTimes& repeat = runs.emplace_back();
    repeat.median_ns = seconds * 1e9;
    const std::vector<report::TimedRun>& timed = run.repeats->runs;
    const double waited_s = i < timed.size() ? timed[i].waited_s.value_or(0) : 0;
    if (1 - waited_s / seconds < kMostlyOnCpu)
      repeat.busy = beside_load(path + ": ", 1 - waited_s / seconds);
  }
  return runs;
}

void add_regions(const report::Regions& regions, Comparable& to) {
  for (const report::Region& region : regions.rows) {
    std::string name =
        region.path.empty() ? region.name : fmt::format("{}", fmt::join(region.path, " / "));
    if (!region.shape.empty()) name += " " + region.shape;
    to.rows.push_back({"regions", name, name, one_time(region.total_ns.value_or(0) * 1e-9)});
  }
}

Result<void> add_rows(const Run& run, Comparable& to) {
  std::vector<RunTimes> wall, user;
  if (run.repeats) {
    TRY(wall, repeats_of(run, to.file.path, run.repeats->wall_s));
    for (const double seconds : run.repeats->user_s.samples) {
      // A command may use too little CPU for its clock to see.
      const std::vector<RunTimes> one = one_time(seconds);
      user.insert(user.end(), one.begin(), one.end());
    }
  }
  if (wall.empty()) wall = one_time(run.wall_s);
  if (user.empty()) user = one_time(run.user_s.value_or(0));
  to.rows.push_back({kWholeProgram, "wall time", "wall time", std::move(wall)});
  to.rows.push_back({kWholeProgram, "user time", "user time", std::move(user)});
  if (run.regions) add_regions(*run.regions, to);
  for (const report::ExactCall& call : run.exact) {
    const std::string name = report::label_of(call);
    to.rows.push_back({"calls counted exactly", name, name, {}});
    set_exact(to.rows.back(), call.count, call.reason);
  }
  return {};
}

// Several rows of one name: the n-th is held against the n-th. A label that several rows share is
// told apart by their groups.
void tell_apart(std::vector<ComparableRow>& rows) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::map<std::string, int> labels;
  for (ComparableRow& row : rows) {
    const int before = seen[{row.group, row.name}]++;
    if (before > 0) row.name += fmt::format(" #{}", before + 1);
    ++labels[row.label];
  }
  for (ComparableRow& row : rows)
    if (labels[row.label] > 1) row.label = fmt::format("{} {}", row.group, row.name);
}

// --- The files of each schema.

void add_peak(const Profile& profile, Comparable& to) {
  if (!profile.peak || !is_time(profile.peak->f32_gflops)) return;
  to.peak_gflops = profile.peak->f32_gflops;
  to.peak_of =
      fmt::format("{}, {}, {}", profile.machine.cpu_name, profile.peak->isa, profile.peak->threads);
}

const Profile& run_of(const Profile& profile) { return profile; }
const Profile& run_of(const Sweep& sweep) { return sweep.run; }
const Run& run_of(const Run& run) { return run; }

template <class T>
Result<void> read_as(const ReportFile& file, Comparable& to) {
  const Result<T> read = model::from_json<T>(file.json);
  if (!read) return usage_error(fmt::format("{}: {}", file.path, read.error().what), kNotOurs);
  const auto& run = run_of(*read);
  to.file = {.path = file.path,
             .more = {},
             .schema = file.schema,
             .started_utc = run.started_utc,
             .command = run.command};
  TRY(add_rows(*read, to));
  to.conditions = conditions_of(*read);
  if constexpr (!std::is_same_v<T, Run>) add_peak(run, to);
  return {};
}

struct SchemaReader {
  std::string_view schema;
  Result<void> (*read)(const ReportFile& file, Comparable& to);
};

std::span<const SchemaReader> schema_readers() {
  static const SchemaReader all[] = {{model::record<Profile>().schema, read_as<Profile>},
                                     {model::record<Run>().schema, read_as<Run>},
                                     {model::record<Sweep>().schema, read_as<Sweep>}};
  return all;
}

std::vector<std::string_view> known_schemas() {
  std::vector<std::string_view> known;
  for (const SchemaReader& reader : schema_readers()) known.push_back(reader.schema);
  return known;
}

Result<Comparable> comparable_of(const ReportFile& file) {
  Comparable out;
  for (const SchemaReader& reader : schema_readers())
    if (reader.schema == file.schema) {
      TRY(reader.read(file, out));
    }
  if (out.rows.empty()) {
    return usage_error(fmt::format("{} holds no rows: there is nothing to compare", file.path),
                       kNotOurs);
  }
  tell_apart(out.rows);
  return out;
}

}  // namespace

std::uint64_t ExactTotals::by(ExactBy what) const {
  return what == ExactBy::kInstructions ? instructions : what == ExactBy::kFlops ? flops : bytes;
}

Result<Comparable> read_comparable(const std::string& path, bool accept_busy) {
  TRY(const ReportFile file, read_report(path, known_schemas()));
  TRY(Comparable out, comparable_of(file));
  for (ComparableRow& row : out.rows)
    for (RunTimes& run : row.runs)
      if (accept_busy) run.busy.clear();
  return out;
}

Result<Comparable> parse_comparable(const std::string& command, const std::string& text) {
  TRY(const ReportFile file, parse_report(command, text, known_schemas()));
  return comparable_of(file);
}

const ComparableRow* find_row(const Comparable& in, const ComparableRow& row) {
  const auto found =
      std::find_if(in.rows.begin(), in.rows.end(), [&row](const ComparableRow& candidate) {
        return candidate.group == row.group && candidate.name == row.name;
      });
  return found == in.rows.end() ? nullptr : &*found;
}

Comparable merge_runs(std::vector<Comparable> runs) {
  Comparable merged = std::move(runs.front());
  for (std::size_t i = 1; i < runs.size(); ++i) {
    merged.file.more.push_back(runs[i].file.path);
    for (ComparableRow& row : merged.rows) {
      const ComparableRow* same = find_row(runs[i], row);
      if (same == nullptr || same->runs.empty()) {
        row.runs.emplace_back();
      } else {
        row.runs.insert(row.runs.end(), same->runs.begin(), same->runs.end());
      }
    }
  }
  return merged;
}

}  // namespace hwprof
