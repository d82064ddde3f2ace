#include "src/report/documents/content.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "src/report/render/format.h"

namespace hwprof::report {
namespace {

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string caches_text(const Machine& machine) {
  std::vector<std::string> parts;
  for (const CacheLevel& cache : machine.caches) {
    std::string text =
        fmt::format("L{} {}", cache.level, binary_bytes(static_cast<double>(cache.bytes)));
    if (cache.shared_by > 1) text += fmt::format(" for {} CPUs", cache.shared_by);
    parts.push_back(std::move(text));
  }
  return fmt::format("{}; {}",
                     parts.empty() ? "unknown" : fmt::format("{}", fmt::join(parts, ", ")),
                     machine.isa.empty() ? "instruction sets unknown"
                                         : fmt::format("{}", fmt::join(machine.isa, " ")));
}

std::string pin_text(const Profile& profile) {
  const Pin& pin = profile.pin;
  std::string text;
  if (pin.requested.empty()) {
    text = "not pinned; may run on " + cpus_in_words(pin.actual);
  } else if (pin.requested == pin.actual) {
    text = cpus_in_words(pin.actual);
  } else {
    text = fmt::format("asked for {}, runs on {}", cpus_in_words(pin.requested),
                       cpus_in_words(pin.actual));
  }
  text += fmt::format(", {}, {}", counted(static_cast<std::uint64_t>(profile.threads), "thread"),
                      counted(pin.migrations, "migration"));
  if (profile.threads > 1) text += " of the main thread";
  if (!profile.simd_target.empty()) {
    text += fmt::format("; simd variants use {}", profile.simd_target);
  }
  return text;
}

std::string peak_text(const Peak& peak) {
  std::vector<std::string> narrower;
  for (const auto& [isa, gflops] : peak.by_isa) {
    if (isa != peak.isa) narrower.push_back(fmt::format("{} {}", isa, significant(gflops, 3)));
  }
  std::string text =
      fmt::format("{} GFLOP/s (float32, {}, {})", significant(peak.f32_gflops, 3), peak.isa,
                  counted(static_cast<std::uint64_t>(peak.threads), "thread"));
  if (!narrower.empty()) text += fmt::format("; {} GFLOP/s", fmt::join(narrower, ", "));
  return text;
}

std::string bandwidth_text(const Peak& peak) {
  std::vector<std::string> parts;
  for (const Bandwidth& level : peak.bandwidth) {
    parts.push_back(fmt::format("{} {}/{}/{} in {}", level.level, significant(level.read_gbs, 3),
                                significant(level.copy_gbs, 3), significant(level.triad_gbs, 3),
                                binary_bytes(static_cast<double>(level.working_set_bytes))));
  }
  if (parts.empty()) return "not measured";
  return fmt::format("GB/s read/copy/triad: {}", fmt::join(parts, ", "));
}

}  // namespace

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Closes a sentence that came from elsewhere and may or may not have its full stop.
std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) {
    text += '.';
  }
  return text;
}

std::string cpus_in_words(const CpuList& cpus) {
  return fmt::format("{} {}", cpus.size() == 1 ? "CPU" : "CPUs", format_cpu_list(cpus));
}

std::string machine_text(const Machine& machine) {
  std::vector<std::string> parts = {machine.cpu_name.empty() ? "unknown CPU" : machine.cpu_name};
  std::string topology;
  if (machine.cores > 0) topology = counted(machine.cores, "core") + ", ";
  if (machine.cpus > 0) topology += counted(machine.cpus, "CPU");
  if (machine.packages > 0) topology += " in " + counted(machine.packages, "package");
  if (!topology.empty()) parts.push_back(topology);
  if (machine.memory_bytes > 0) {
    parts.push_back(binary_bytes(static_cast<double>(machine.memory_bytes)) + " memory");
  }
  if (machine.virtualized) {
    parts.push_back(machine.hypervisor.empty() ? "virtual"
                                               : fmt::format("virtual ({})", machine.hypervisor));
  }
  parts.push_back(fmt::format("Linux {} {}", machine.kernel, machine.arch));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string pmu_text(const Machine& machine) {
  const PmuInfo& pmu = machine.pmu;
  std::string text;
  if (pmu.present()) {
    std::vector<std::string> names;
    for (const PmuDevice& device : pmu.devices) {
      names.push_back(fmt::format("{} (type {})", device.name, device.type));
    }
    text = fmt::format("{}, {}", fmt::join(names, ", "),
                       pmu.counters ? counted(*pmu.counters, "general counter")
                                    : "number of counters unknown: " + pmu.reason);
  } else {
    text = "no PMU: " + pmu.reason;
  }
  text += machine.perf_event_paranoid
              ? fmt::format("; perf_event_paranoid {}", *machine.perf_event_paranoid)
              : "; the kernel has no perf_event";
  if (machine.nmi_watchdog) {
    text +=
        *machine.nmi_watchdog ? "; NMI watchdog on (it holds one counter)" : "; NMI watchdog off";
  }
  return text;
}

Headline headline(const Profile& profile) {
  const Blas& blas = profile.blas;
  if (blas.verdict != "optimal") {
    std::string text = "BLAS " + upper(blas.verdict) + ":";
    if (blas.factor) {
      text += fmt::format(" {} times faster is possible.", significant(*blas.factor, 3));
    } else {
      text += " " + sentence(blas.why.empty() ? "no evidence was found" : blas.why);
    }
    if (!blas.fix.empty()) text += " Fix: " + blas.fix;
    return {text, false};
  }
  const std::string library = blas.provider.value_or("the library");
  const std::string optimal =
      fmt::format("BLAS optimal ({}{}{}).", library, blas.core.empty() ? "" : ", ", blas.core);
  if (profile.training) return {training_headline(*profile.training) + " " + optimal, true};
  const auto fastest =
      std::min_element(profile.passes.begin(), profile.passes.end(),
                       [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  if (profile.layers) return {layers_headline(profile) + " " + optimal, true};
  if (fastest == profile.passes.end()) {
    return {fmt::format("BLAS optimal: {}", sentence(blas.why.empty() ? library : blas.why)), true};
  }
  return {fmt::format("Fastest forward pass: {}, {}. {}", fastest->name, duration(fastest->time_ns),
                      optimal),
          true};
}

std::string run_line(const Profile& profile) {
  return fmt::format("hwprof {}, started {}, took {} s", profile.version, profile.started_utc,
                     significant(profile.elapsed_s, 3));
}

std::string shell_command(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

std::string command_line(const Profile& profile) { return shell_command(profile.command); }

std::vector<Field> machine_fields(const Profile& profile) {
  const auto& peak = profile.peak;
  const std::string no_peak =
      "not measured: " +
      (profile.peak_reason.empty() ? "no reason was given" : profile.peak_reason);
  return {{"Machine", machine_text(profile.machine)},
          {"Caches", caches_text(profile.machine)},
          {"Counters", pmu_text(profile.machine)},
          {"Pinned", pin_text(profile)},
          {"FMA peak", peak ? peak_text(*peak) : no_peak},
          {"Bandwidth", peak ? bandwidth_text(*peak) : no_peak}};
}

std::vector<Field> workload_fields(const Profile& profile) {
  const Workload& work = profile.workload;
  std::vector<std::string> shape;
  for (const auto& [name, value] : work.shape) shape.push_back(fmt::format("{}={}", name, value));
  const Field name{"Workload", fmt::format("{}, {}", work.name, fmt::join(shape, " "))};
  if (work.layers > 0) {
    return {{"Workload", fmt::format("{}; {}", name.text, counted(work.layers, "layer"))}};
  }
  if (profile.training) {
    std::vector<Field> fields = training_fields(*profile.training);
    fields.insert(fields.begin(), name);
    return fields;
  }

  std::string documents = fmt::format("{} of {}, {} to {} words, mean {}; {}", work.documents_used,
                                      work.documents_total, work.min_length, work.max_length,
                                      significant(work.mean_length, 4), work.documents);
  if (work.short_documents > 0) {
    documents += fmt::format("; {} shorter than the filter, padded with zeros to its width",
                             counted(work.short_documents, "document"));
  }
  const std::string padding = fmt::format(
      "{}: the convolution does {} times the work of unpadded documents; padding to the longest of "
      "the batch would make it {} times",
      work.padding, significant(work.padding_factor, 3), significant(work.batch_padding_factor, 3));
  return {name, {"Documents", documents}, {"Padding", padding}, {"Vectors", work.embedding}};
}

std::vector<Field> blas_fields(const Blas& blas) {
  std::string library = blas.provider.value_or("none could be loaded");
  if (blas.provider) {
    library += blas.version.empty() ? ", version unknown" : " " + blas.version;
    library += blas.core.empty() ? ", no core type" : ", core type " + blas.core;
    library += blas.threads ? ", " + counted(static_cast<std::uint64_t>(*blas.threads), "thread")
                            : ", number of threads unknown";
    if (!blas.threading.empty()) library += " (" + blas.threading + ")";
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : blas.environment) {
    environment.push_back(fmt::format("{}={}", name, value.empty() ? "\"\"" : value));
  }
  std::vector<Field> fields = {{"Library", library}};
  if (!blas.path.empty()) {
    fields.push_back(
        {"Path", blas.requested.empty() || blas.requested == blas.path
                     ? blas.path
                     : fmt::format("{} (asked for as {})", blas.path, blas.requested)});
  }
  fields.push_back({"Environment", environment.empty()
                                       ? "no variable that shapes a BLAS is set"
                                       : fmt::format("{}", fmt::join(environment, ", "))});
  std::string verdict = blas.verdict;
  if (blas.factor) verdict += fmt::format(", factor {}", significant(*blas.factor, 3));
  if (!blas.why.empty()) verdict += ": " + blas.why;
  fields.push_back({"Verdict", verdict});
  if (!blas.fix.empty()) fields.push_back({"Fix", blas.fix});
  return fields;
}

}  // namespace hwprof::report
