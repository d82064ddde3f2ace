// The contract hwprof.profile/1 (docs: README, "JSON"). An absent or non-finite number is null,
// with its reason beside it. ASCII only: nlohmann escapes everything else, so that neither a path
// that is no UTF-8 nor a control character reaches whoever prints the file.
#include "src/report/data/json_parts.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/documents/regions.h"

namespace hwprof::report {
namespace {

Json counter_json(const EventCount& count) {
  return {{"value", number(count.value)},
          {"status", to_string(count.status)},
          {"coverage", number(count.coverage)},
          {"event", or_null(count.event)},
          {"reason", or_null(count.reason)},
          {"unit", count.unit},
          {"total", number(count.total)},
          {"calls", static_cast<std::uint64_t>(count.calls)},
          {"source", or_null(count.source)},
          {"shown_as", or_null(count.shown_as)},
          {"implausible", or_null(count.implausible)}};
}

Json blas_json(const ProfileBlas& blas) {
  return {{"provider", or_null(to_text(blas.provider))},
          {"version", or_null(blas.version)},
          {"path", or_null(blas.path)},
          {"requested", or_null(blas.requested)},
          {"core", or_null(blas.core)},
          {"threads", or_null(blas.threads)},
          {"threading", or_null(blas.threading)},
          {"environment", object_of(blas.environment)},
          {"ladder", ladder_json(blas.ladder)},
          {"ladder_note", or_null(blas.ladder_note)},
          {"verdict", to_text(blas.verdict)},
          {"factor", number(blas.factor)},
          {"why", or_null(blas.why)},
          {"fix", or_null(blas.fix)}};
}

Json repeated_json(const Repetition& repeated) {
  Json outliers = Json::array();
  for (const Outlier& outlier : repeated.outliers) {
    outliers.push_back(
        {{"index", outlier.index}, {"ns", number(outlier.ns)}, {"cause", outlier.cause}});
  }
  return {{"loops", repeated.loops},
          {"best_ns", number(repeated.best_ns)},
          {"outliers", outliers},
          {"outliers_reason", or_null(repeated.outliers_reason)}};
}

Json scaling_json(const Scaling& scaling) {
  Json counts = Json::array(), rows = Json::array();
  for (const ScalingCount& count : scaling.counts) {
    counts.push_back({{"threads", count.threads},
                      {"blas_threads", count.blas_threads},
                      {"peak_gflops", number(count.peak_gflops)},
                      {"oversubscribed", count.oversubscribed}});
  }
  for (const ScalingRow& row : scaling.rows) {
    Json points = Json::array();
    for (const ScalingPoint& point : row.points) {
      points.push_back({{"time_ns", number(point.time_ns)},
                        {"speedup", number(point.speedup)},
                        {"efficiency", number(point.efficiency)},
                        {"cpu_shares", point.cpu_shares},
                        {"cpu_shares_reason", or_null(point.cpu_shares_reason)}});
    }
    rows.push_back(
        {{"op", row.op}, {"variant", row.variant}, {"shape", row.shape}, {"points", points}});
  }
  return {{"cpus", scaling.cpus},
          {"base_threads", scaling.base_threads},
          {"counts", counts},
          {"rows", rows}};
}

Json complexity_json(const Complexity& complexity) {
  Json rows = Json::array();
  for (const ComplexityRow& row : complexity.rows) {
    rows.push_back({{"op", row.op},
                    {"cost_units", number(row.cost_units)},
                    {"model_share", number(row.model_share)},
                    {"roofline_share", number(row.roofline_share)},
                    {"time_share", number(row.time_share)}});
  }
  return {{"agrees", or_null(complexity.agrees)},
          {"reason", complexity.agrees ? Json(nullptr) : or_null(complexity.text)},
          {"text", or_null(complexity.text)},
          {"pass", or_null(complexity.pass)},
          {"findings", complexity.findings},
          {"rows", rows}};
}

Json workload_json(const Workload& work) {
  Json shape = Json::object();  // numbers, but for several filter sizes: "2+4+8"
  for (const auto& [name, text] : work.shape) {
    const Json value = Json::parse(text, nullptr, false);
    shape[name] = value.is_number_unsigned() ? value : Json(text);
  }
  if (work.layers > 0) {
    return {{"name", work.name}, {"layers", work.layers}, {"shape", shape}};
  }
  if (work.documents_total == 0) return {{"name", work.name}, {"shape", shape}};  // has none
  return {{"name", work.name},
          {"documents", work.documents},
          {"embedding", work.embedding},
          {"shape", shape},
          {"padding", work.padding},
          {"padding_factor", number(work.padding_factor)},
          {"batch_padding_factor", number(work.batch_padding_factor)},
          {"documents_used", work.documents_used},
          {"documents_total", work.documents_total},
          {"short_documents", work.short_documents},
          {"mean_length", number(work.mean_length)},
          {"min_length", work.min_length},
          {"max_length", work.max_length}};
}

}  // namespace

// The slices by columns: `slices` are the times, the others what happened in each.
Json time_json(const TimeNs& time) {
  constexpr const char* kNoInterval = "fewer than six slices: none brackets the median with 95 %";
  const auto column = [&time](auto Slice::*member) {
    Json values = Json::array();
    for (const Slice& slice : time.slices) values.push_back(or_null(slice.*member));
    return values;
  };
  Json slices = Json::array();
  for (const Slice& slice : time.slices) slices.push_back(number(slice.ns));
  return {{"median", number(time.median)},
          {"ci95", {number(time.ci95_low), number(time.ci95_high)}},
          {"ci95_reason", time.ci95_low ? Json(nullptr) : Json(kNoInterval)},
          {"min", number(time.min)},
          {"mean", number(time.mean)},
          {"samples", time.samples},
          {"slices", slices},
          {"slice_peak_gflops", column(&Slice::peak_gflops)},
          {"slice_migrated", column(&Slice::migrated)},
          {"slice_involuntary_switches", column(&Slice::involuntary_switches)},
          {"slice_page_faults", column(&Slice::page_faults)}};
}

Json machine_json(const Machine& machine) {
  Json devices = Json::array();
  for (const PmuDevice& device : machine.pmu.devices) {
    devices.push_back({{"name", device.name}, {"type", device.type}, {"cpus", device.cpus}});
  }
  Json caches = Json::array();
  for (const CacheLevel& cache : machine.caches) {
    caches.push_back(
        {{"level", cache.level}, {"bytes", cache.bytes}, {"shared_by", cache.shared_by}});
  }
  return {{"cpu", machine.cpu_name},
          {"isa", machine.isa},
          {"virtualized", machine.virtualized},
          {"hypervisor", or_null(machine.hypervisor)},
          {"pmu",
           {{"present", machine.pmu.present()},
            {"counters", or_null(machine.pmu.counters)},
            {"reason", or_null(machine.pmu.reason)},
            {"devices", devices}}},
          {"perf_event_paranoid", or_null(machine.perf_event_paranoid)},
          {"nmi_watchdog", or_null(machine.nmi_watchdog)},
          {"kernel", machine.kernel},
          {"arch", machine.arch},
          {"family", machine.id.family},
          {"model", machine.id.model},
          {"stepping", machine.id.stepping},
          {"packages", known(machine.packages)},
          {"cores", known(machine.cores)},
          {"cpus", known(machine.cpus)},
          {"memory_bytes", known(machine.memory_bytes)},
          {"caches", caches}};
}

Json pin_json(const Pin& pin) {
  return {{"requested", pin.requested},
          {"actual", pin.actual},
          {"migrations", pin.migrations},
          {"involuntary_switches_per_s", number(pin.involuntary_switches_per_s)}};
}

Json ladder_json(const std::vector<LadderRung>& ladder) {
  Json out = Json::array();
  for (const LadderRung& rung : ladder) {
    out.push_back({{"core", or_null(rung.core)},
                   {"setting", rung.setting},
                   {"gflops", number(rung.gflops)},
                   {"peak_fraction", number(rung.peak_fraction)},
                   {"vector_class", or_null(to_text(rung.vector_class))},
                   {"library", rung.library},
                   {"provider", to_text(rung.provider)},
                   {"as_found", rung.as_found},
                   {"reason", or_null(rung.reason)}});
  }
  return out;
}

Json row_json(const Profile& profile, const Row& row) {
  return {{"op", row.op},
          {"variant", row.variant},
          {"shape", object_of(row.shape)},
          {"threads", row.threads},
          {"calls", row.calls},
          {"time_ns", row.time_ns ? time_json(*row.time_ns) : Json(nullptr)},
          {"repeated", row.repeated ? repeated_json(*row.repeated) : Json(nullptr)},
          {"reason", or_null(row.reason)},
          {"model",
           {{"flops", number(row.model.flops)},
            {"comparisons", number(row.model.comparisons)},
            {"bytes", number(row.model.bytes)},
            {"cost_units", number(row.model.cost_units)}}},
          {"gflops", number(row.gflops)},
          {"gflops_reason", or_null(gflops_reason(row))},
          {"peak_fraction", number(row.peak_fraction)},
          {"peak_fraction_ci95", {number(row.peak_fraction_low), number(row.peak_fraction_high)}},
          {"peak_fraction_reason", or_null(peak_fraction_reason(profile, row))},
          {"intensity", number(row.intensity)},
          {"bound", or_null(row.bound)},
          {"bandwidth_level", or_null(row.bandwidth_level)},
          {"roofline_ns", number(row.roofline_ns)},
          {"roofline_fraction", number(row.roofline_fraction)},
          {"pass", or_null(row.pass)},
          {"forward_share", number(row.forward_share)},
          {"max_rel_error", number(row.max_rel_error)},
          {"max_rel_error_reason", or_null(error_reason(row))},
          {"checked_documents", row.checked_documents},
          {"counted_to_model_flops", number(row.counted_to_model_flops)},
          {"counted_to_model_flops_reason", or_null(counted_flops_reason(row))},
          {"optimised", row.optimised},
          {"counters", counters_json(row.counters)}};
}

Json counters_json(const std::vector<EventCount>& counters) {
  Json out = Json::object();
  for (const EventCount& count : counters) out[count.name] = counter_json(count);
  return out;
}

Json warnings_json(const std::vector<Warning>& warnings) {
  Json out = Json::array();
  for (const Warning& warning : warnings) {
    out.push_back({{"code", warning.code}, {"text", warning.text}});
  }
  return out;
}

std::string profile_json(const Profile& profile) {
  Json rows = Json::array();
  for (const Row& row : profile.rows) rows.push_back(row_json(profile, row));
  Json passes = Json::array();
  for (const ForwardPass& pass : profile.passes) {
    passes.push_back({{"name", pass.name},
                      {"time_ns", number(pass.time_ns)},
                      {"variants", object_of(pass.variants)}});
  }
  Json out = {{"schema", "hwprof.profile/1"},
              {"hwprof", {{"version", profile.version}}},
              {"command", profile.command},
              {"started_utc", profile.started_utc},
              {"elapsed_s", number(profile.elapsed_s)},
              {"partial", profile.partial},
              {"machine", machine_json(profile.machine)},
              {"pin", pin_json(profile.pin)},
              {"threads", profile.threads},
              {"simd_target", or_null(profile.simd_target)},
              {"workload", workload_json(profile.workload)},
              {"peak", profile.peak ? peak_json(*profile.peak) : Json(nullptr)},
              {"peak_reason", or_null(profile.peak_reason)},
              {"blas", blas_json(profile.blas)},
              {"rows", rows},
              {"passes", passes},
              {"complexity", complexity_json(profile.complexity)},
              {"regions", regions_json(profile.regions)},
              {"scaling", profile.scaling ? scaling_json(*profile.scaling) : Json(nullptr)},
              {"warnings", warnings_json(profile.warnings)}};
  if (profile.layers) add_layers_json(profile, *profile.layers, out);
  if (profile.training) out["training"] = training_json(*profile.training);
  return json_text(out);
}

}  // namespace hwprof::report
