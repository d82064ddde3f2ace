// The contract hwprof.sweep/1 (docs/json.md).
#include "src/report/data/writers.h"
#include "src/report/data/json_parts.h"

namespace hwprof::report {
namespace {

Json law_json(const ScalingLaw& law) {
  return {{"quantity", law.quantity},
          {"size", law.size},
          {"held", or_null(law.held)},
          {"exponent", number(law.exponent)},
          {"ci95", {number(law.low), number(law.high)}},
          {"model_exponent", number(law.model_exponent)},
          {"from", known(law.from)},
          {"to", known(law.to)},
          {"points", law.points},
          {"agrees", or_null(law.agrees)},
          {"text", law.text},
          {"causes", law.causes},
          {"reason", or_null(law.reason)}};
}

Json point_json(const Sweep& sweep, std::size_t index) {
  const SweepPoint& point = sweep.points[index];
  Json at = Json::object();
  for (std::size_t i = 0; i < sweep.swept.size(); ++i) at[sweep.swept[i].name] = point.at[i];
  Json out = {{"at", at},
              {"working_set_bytes", number(point.working_set_bytes)},
              {"level", or_null(point.level)},
              {"model_ns", number(point.model_ns)},
              {"time_to_model", number(point.time_to_model)}};
  out.update(row_json(sweep.run, sweep.run.rows[index]));
  // Of a whole forward pass.
  for (const char* key : {"pass", "forward_share", "checked_documents"}) out.erase(key);
  return out;
}

}  // namespace

std::string sweep_json(const Sweep& sweep) {
  const Profile& run = sweep.run;
  Json swept = Json::array(), laws = Json::array(), points = Json::array();
  for (const SweptSize& size : sweep.swept)
    swept.push_back({{"name", size.name}, {"low", size.low}, {"high", size.high}});
  for (const ScalingLaw& law : sweep.laws) laws.push_back(law_json(law));
  for (std::size_t i = 0; i < sweep.points.size(); ++i) points.push_back(point_json(sweep, i));
  Json blas = nullptr;
  if (sweep.needs_blas) {
    blas = {{"provider", or_null(to_text(run.blas.provider))},
            {"version", or_null(run.blas.version)},
            {"path", or_null(run.blas.path)},
            {"core", or_null(run.blas.core)},
            {"threads", or_null(run.blas.threads)}};
  }
  const Json out = {{"schema", "hwprof.sweep/1"},
                    {"hwprof", {{"version", run.version}}},
                    {"command", run.command},
                    {"started_utc", run.started_utc},
                    {"elapsed_s", number(run.elapsed_s)},
                    {"partial", run.partial},
                    {"machine", machine_json(run.machine)},
                    {"pin", pin_json(run.pin)},
                    {"threads", run.threads},
                    {"simd_target", or_null(run.simd_target)},
                    {"peak", run.peak ? peak_json(*run.peak) : Json(nullptr)},
                    {"op", sweep.op},
                    {"variant", sweep.variant},
                    {"asked", or_null(sweep.asked)},
                    {"shape", object_of(sweep.held)},
                    {"swept", swept},
                    {"agrees", or_null(sweep.agrees)},
                    {"tolerance", number(sweep.tolerance)},
                    {"text", sweep.text},
                    {"laws", laws},
                    {"points", points},
                    {"blas", blas},
                    {"warnings", warnings_json(run.warnings)}};
  return json_text(out);
}

}  // namespace hwprof::report
