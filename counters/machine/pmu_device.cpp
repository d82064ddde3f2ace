#include "counters/machine/pmu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "counters/machine/affinity.h"
#include "src/base/suggest.h"
#include "src/base/text.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

// Whole names, then prefixes. Intel hybrid: arch/x86/events/intel/core.c; arm64:
// drivers/perf/arm_pmuv3.c ("armv8_pmuv3_0", "armv8_cortex_a72"), apple_m1_cpu_pmu.c.
constexpr std::array<std::string_view, 4> kCoreNames = {"cpu", "cpu_core", "cpu_atom",
                                                        "cpu_lowpower"};
constexpr std::array<std::string_view, 3> kCorePrefixes = {"armv8_", "armv9_", "apple_"};

std::optional<std::uint32_t> device_type(const fs::path& device) {
  const auto text = read_text_file(device / "type");
  const auto type = text ? parse_unsigned(trim(*text)) : std::nullopt;
  if (!type) return std::nullopt;
  return static_cast<std::uint32_t>(*type);
}

std::vector<std::string> file_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Scatters `value` over the bits of a format file: "config:0-7,32-35". False: it does not fit, or
// the file is of a form that we do not know.
bool place(std::string_view format, std::uint64_t value, SysfsEvent& event) {
  const std::size_t colon = format.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = format.substr(0, colon);
  std::uint64_t* target = word == "config"    ? &event.config
                          : word == "config1" ? &event.config1
                          : word == "config2" ? &event.config2
                                              : nullptr;
  if (target == nullptr) return false;
  for (std::string_view range : split(format.substr(colon + 1), ',')) {
    const std::size_t dash = range.find('-');
    const auto low = parse_unsigned(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse_unsigned(range.substr(dash + 1));
    if (!low || !high || *high > 63 || *low > *high) return false;
    for (std::uint64_t bit = *low; bit <= *high; ++bit, value >>= 1) *target |= (value & 1) << bit;
  }
  return value == 0;
}

}  // namespace

bool is_core_pmu_name(std::string_view name) {
  return std::find(kCoreNames.begin(), kCoreNames.end(), name) != kCoreNames.end() ||
         std::any_of(kCorePrefixes.begin(), kCorePrefixes.end(), [&](std::string_view prefix) {
           return name.substr(0, prefix.size()) == prefix;
         });
}

std::vector<PmuDevice> read_core_pmus(const fs::path& devices) {
  std::vector<PmuDevice> pmus;
  for (const std::string& name : file_names(devices)) {
    if (!is_core_pmu_name(name)) continue;
    const auto type = device_type(devices / name);
    if (!type) continue;
    PmuDevice device{name, *type, {}};
    if (const auto text = read_text_file(devices / name / "cpus"))
      if (auto cpus = parse_cpu_list(trim(*text))) device.cpus = *std::move(cpus);
    pmus.push_back(std::move(device));
  }
  return pmus;
}

Result<SysfsEvent> encode_sysfs_event(const fs::path& devices, std::string_view pmu,
                                      std::string_view fields) {
  const fs::path device = devices / pmu;
  const auto type = device_type(device);
  if (!type) {
    const std::vector<std::string> known = file_names(devices);
    return usage_error(fmt::format("there is no event source '{}'", pmu),
                       fmt::format("this machine has {}", join(known)));
  }
  SysfsEvent event;
  event.type = *type;
  std::error_code error;
  event.per_package = fs::exists(device / "cpumask", error);
  for (std::string_view item : split(fields, ',')) {
    const std::size_t equals = item.find('=');
    const std::string_view key = trim(item.substr(0, equals));
    // A field without a value is a flag: "edge" means "edge=1", as perf reads it.
    const auto value = equals == std::string_view::npos
                           ? std::optional<std::uint64_t>(1)
                           : parse_unsigned(trim(item.substr(equals + 1)));
    if (key.empty() || !value)
      return usage_error(
          fmt::format("'{}' in {}/{}/ is not of the form field=number", item, pmu, fields));
    // The raw words need no format file, as in perf.
    if (key == "config" || key == "config1" || key == "config2") {
      (key == "config" ? event.config : key == "config1" ? event.config1 : event.config2) = *value;
      continue;
    }
    const auto format = read_text_file(device / "format" / key);
    if (!format) {
      const std::vector<std::string> known = file_names(device / "format");
      return usage_error(fmt::format("{} has no field '{}'", pmu, key),
                         known.empty() ? "its fields are config, config1, config2"
                                       : fmt::format("its fields are {}", join(known)));
    }
    if (!place(trim(*format), *value, event))
      return usage_error(fmt::format("{:#x} does not fit the field '{}' of {}", *value, key, pmu),
                         fmt::format("its bits are {}", trim(*format)));
  }
  return event;
}

std::optional<bool> cpu_names_event(const fs::path& devices, std::string_view pmu,
                                    std::uint64_t config) {
  if (pmu.substr(0, 3) != "arm") return std::nullopt;
  const std::vector<std::string> names = file_names(devices / pmu / "events");
  if (names.empty()) return std::nullopt;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto text = read_text_file(devices / pmu / "events" / name);
    const auto event = encode_sysfs_event(devices, pmu, text ? trim(*text) : "");
    return event && event->config == config;
  });
}

}  // namespace hwprof
