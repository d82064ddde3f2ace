// Text format 0.0.4 of Prometheus (prometheus.io/docs/instrumenting/exposition_formats).
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/utc.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

// Escaped as label values are: backslash, quote, newline.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char letter : printable(text)) {
    if (letter == '\n') {
      out += "\\n";
      continue;
    }
    if (letter == '\\' || letter == '"') out += '\\';
    out += letter;
  }
  return out;
}

std::string with_labels(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, label_value(value));
  return text.empty() ? "" : "{" + text + "}";
}

class Gauges {
 public:
  void begin(std::string_view name, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
  }
  void sample(double value, const Labels& labels = {}) {
    text_ += fmt::format("{}{} {}\n", name_, with_labels(labels), value);
  }
  // Nothing of what is not known: 0 would be a value.
  void known(std::string_view name, std::string_view help, std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return;
    begin(name, help);
    sample(*value);
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

std::optional<double> times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

}  // namespace

std::string check_prometheus(const Check& check) {
  constexpr double kGiga = 1e9;
  Gauges gauges;
  gauges.begin("hwprof_check_outcome",
               "1 for the outcome of the last check of the BLAS that programs get, 0 for others.");
  for (const auto& outcome : model::EnumNames<Outcome>::kAll) {
    gauges.sample(outcome.value == check.outcome ? 1 : 0, {{"outcome", std::string(outcome.text)}});
  }
  gauges.begin("hwprof_check_info", "What the last check found, in its labels.");
  gauges.sample(1, {{"verdict", std::string(to_text(check.blas.verdict))},
                    {"provider", std::string(to_text(check.blas.provider))},
                    {"library_version", check.blas.version},
                    {"core", check.blas.core},
                    {"cpu", check.machine.cpu_name},
                    {"hwprof_version", check.version}});
  gauges.known("hwprof_check_sgemm_flops_per_second",
               "Rate of sgemm on one core, as programs get it.", times(check.gflops, kGiga));
  gauges.known("hwprof_check_peak_flops_per_second", "FMA peak of that core, measured beside it.",
               times(check.peak_gflops, kGiga));
  gauges.known("hwprof_check_peak_ratio", "Rate of sgemm over the FMA peak.", check.peak_fraction);
  gauges.known("hwprof_check_possible_speedup_ratio",
               "How many times faster sgemm could be on this host.", check.blas.factor);
  if (check.blas.results.right) {
    gauges.begin("hwprof_check_results_right", "Whether products are what they should be.");
    gauges.sample(*check.blas.results.right ? 1 : 0);
  }
  gauges.known("hwprof_check_busy_ratio",
               "CPU time of other programs meanwhile, of all CPUs that the check may use.",
               check.busy_fraction);
  gauges.known("hwprof_check_duration_seconds", "How long the last check took.", check.elapsed_s);
  gauges.known("hwprof_check_completion_time_seconds",
               "When the last check ended, in seconds since 1970.", unix_seconds(check.ended_utc));
  return std::move(gauges).text();
}

}  // namespace hwprof::report
