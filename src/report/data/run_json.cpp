// The contract hwprof.run/1 (docs/json.md). An absent or non-finite number is null, with its reason
// beside it; ASCII only.
#include "src/report/data/json_parts.h"
#include "src/report/data/writers.h"
#include "src/report/documents/regions.h"

namespace hwprof::report {
namespace {

Json declared_json(const Declared& declared) {
  return {{"environment", object_of(declared.environment)},
          {"default_library", or_null(declared.default_library)},
          {"default_provider", or_null(to_text(declared.default_provider))},
          {"needed", declared.needed}};
}

Json loaded_json(const std::vector<LoadedLibrary>& loaded) {
  Json out = Json::array();
  for (const LoadedLibrary& library : loaded) {
    out.push_back({{"path", library.path},
                   {"provider", to_text(library.provider)},
                   {"soname", or_null(library.soname)},
                   {"build_id", or_null(library.build_id)},
                   {"serves_blas", library.serves_blas}});
  }
  return out;
}

Json selected_json(const std::vector<ChosenCore>& selected) {
  Json out = Json::array();
  for (const ChosenCore& core : selected) {
    out.push_back({{"provider", to_text(core.provider)},
                   {"core", or_null(core.core)},
                   {"how", or_null(core.how)},
                   {"path", or_null(core.path)},
                   {"version", or_null(core.version)},
                   {"vector_class", or_null(to_text(core.vector_class))},
                   {"threads", or_null(core.threads)},
                   {"reason", or_null(core.reason)}});
  }
  return out;
}

Json called_json(const Called& called) {
  Json calls = Json::array();
  for (const CallSite& site : called.calls) {
    Json shapes = Json::array();
    for (const CallShape& shape : site.shapes) {
      shapes.push_back({{"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"count", shape.count}});
    }
    calls.push_back({{"symbol", site.symbol},
                     {"library", site.library},
                     {"caller", or_null(site.caller)},
                     {"count", site.count},
                     {"time_ns", number(site.time_ns)},
                     {"flops", number(site.flops)},
                     {"shapes", shapes},
                     {"calls_of_other_shapes", site.calls_of_other_shapes}});
  }
  return {{"how", called.how},
          {"calls", calls},
          {"lost", called.lost},
          {"blind_to", called.blind_to},
          {"reason", or_null(called.reason)}};
}

// Name -> share. Symbols of one name in several files add up here; `symbols` has each.
Json shares_json(const std::vector<SampleShare>& shares) {
  Json out = Json::object();
  for (const SampleShare& share : shares) {
    const double before = out.contains(share.name) ? out[share.name].get<double>() : 0;
    out[share.name] = before + share.fraction;
  }
  return out;
}

Json executed_json(const Executed& executed) {
  Json symbols = Json::array();
  for (const SampleShare& share : executed.by_symbol) {
    symbols.push_back({{"name", share.name},
                       {"library", or_null(share.library)},
                       {"samples", share.samples},
                       {"fraction", number(share.fraction)}});
  }
  Json loops = Json::array();
  for (const LibraryLoops& of : executed.loops) {
    loops.push_back({{"library", of.library},
                     {"provider", or_null(to_text(of.provider))},
                     {"symbol", or_null(of.symbol)},
                     {"width", of.width},
                     {"fma", of.fma},
                     {"samples", of.samples},
                     {"fraction", number(of.fraction)},
                     {"threads", of.threads}});
  }
  Json lines = Json::array();
  for (const HotLine& line : executed.lines) {
    lines.push_back({{"file", line.file},
                     {"line", line.line},
                     {"symbol", or_null(line.symbol)},
                     {"samples", line.samples},
                     {"fraction", number(line.fraction)}});
  }
  return {{"samples", executed.samples},
          {"lost", executed.lost},
          {"frequency_hz", known(static_cast<std::uint64_t>(executed.frequency_hz))},
          {"by_library", shares_json(executed.by_library)},
          {"by_symbol", shares_json(executed.by_symbol)},
          {"symbols", symbols},
          {"vector_width", shares_json(executed.vector_width)},
          {"threads", or_null(executed.threads())},
          {"loops", loops},
          {"lines", lines},
          {"notes", executed.notes},
          {"reason", or_null(executed.reason)}};
}

Json blas_json(const RunBlas& blas) {
  const BlasEvidence& evidence = blas.evidence;
  return {{"verdict", to_text(blas.verdict)},
          {"provider", or_null(to_text(blas.provider))},
          {"version", or_null(blas.version)},
          {"path", or_null(blas.path)},
          {"core", or_null(blas.core)},
          {"threads", or_null(blas.threads)},
          {"factor", number(blas.factor)},
          {"why", or_null(blas.why)},
          {"fix", or_null(blas.fix)},
          {"findings", blas.findings},
          {"evidence",
           {{"declared", declared_json(evidence.declared)},
            {"loaded", loaded_json(evidence.loaded)},
            {"selected", selected_json(evidence.chosen_cores)},
            {"called", called_json(evidence.called)},
            {"executed", executed_json(evidence.executed)},
            {"performing",
             {{"gflops", number(evidence.achieved_rate.gflops)},
              {"peak_fraction", number(evidence.achieved_rate.peak_fraction)},
              {"how", or_null(evidence.achieved_rate.how)},
              {"reason", or_null(evidence.achieved_rate.reason)}}}}},
          {"ladder", ladder_json(blas.ladder)},
          {"ladder_note", or_null(blas.ladder_note)}};
}

Json repeated_json(const RepeatedTime& time) {
  Json interval = nullptr;
  if (time.ci95_low && time.ci95_high) interval = {number(time.ci95_low), number(time.ci95_high)};
  return {{"samples", time.samples},
          {"best", number(time.best)},
          {"median", number(time.median)},
          {"ci95", interval},
          {"worst", number(time.worst)}};
}

Json repeats_json(const Repeats& repeats) {
  Json runs = Json::array(), outliers = Json::array();
  for (const TimedRun& run : repeats.runs) {
    runs.push_back({{"page_faults", run.page_faults},
                    {"major_faults", run.major_faults},
                    {"voluntary_switches", run.voluntary_switches},
                    {"involuntary_switches", run.involuntary_switches},
                    {"waited_s", number(run.waited_s)},
                    {"migrations", number(run.migrations)},
                    {"peak_gflops", number(run.peak_gflops)}});
  }
  for (const RepeatOutlier& outlier : repeats.outliers) {
    outliers.push_back({{"index", outlier.index},
                        {"wall_s", outlier.wall_s},
                        {"above_median", outlier.above_median},
                        {"cause", outlier.cause}});
  }
  return {{"count", repeats.runs.size()},
          {"wanted", repeats.wanted},
          {"warmup", repeats.warmup},
          {"wall_s", repeated_json(repeats.wall_s)},
          {"user_s", repeated_json(repeats.user_s)},
          {"system_s", repeated_json(repeats.system_s)},
          {"runs", runs},
          {"waited_reason", or_null(repeats.waited_reason)},
          {"migrations_reason", or_null(repeats.migrations_reason)},
          {"peak_reason", or_null(repeats.peak_reason)},
          {"outliers", outliers},
          {"stopped", or_null(repeats.stopped)},
          {"notes", repeats.notes}};
}

}  // namespace

std::string run_json(const Run& run) {
  const bool attached = run.attached_pid.has_value();
  const Json out = {{"schema", "hwprof.run/1"},
                    {"hwprof", {{"version", run.version}}},
                    {"command", run.command},
                    {"attached_pid", or_null(run.attached_pid)},
                    {"detached", run.detached},
                    {"started_utc", run.started_utc},
                    {"exit", attached ? Json(nullptr) : Json(run.exit)},
                    {"wall_s", number(run.wall_s)},
                    {"user_s", number(run.user_s)},
                    {"system_s", number(run.system_s)},
                    {"peak_rss_bytes", or_null(run.peak_rss_bytes)},
                    {"peak_rss_reason", or_null(run.peak_rss_reason)},
                    {"cpus_used", number(run.cpus_used)},
                    {"pinned", run.pinned},
                    {"repeats", run.repeats ? repeats_json(*run.repeats) : Json(nullptr)},
                    {"counters", counters_json(run.counters)},
                    {"blas", blas_json(run.blas)},
                    {"regions", regions_json(run.regions)},
                    {"machine", machine_json(run.machine)},
                    {"warnings", warnings_json(run.warnings)}};
  return json_text(out);
}

}  // namespace hwprof::report
