#include "src/commands/kept_calibration.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "counters/events/event_notes.h"
#include "counters/events/event_table.h"
#include "src/base/files.h"
#include "src/base/text.h"
#include "src/base/untrusted_file.h"
#include "src/measure/calibration.h"
#include "src/model/from_json.h"
#include "src/report/data/writers.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kLargestCalibration = 1U << 20U;

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Result<void> check_own(const std::string& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0)
    return environment_error(errno, fmt::format("{}: {}", folder, std::strerror(errno)));
  if (!S_ISDIR(status.st_mode))
    return environment_error(ENOTDIR, fmt::format("{} is no folder", folder));
  if (status.st_uid != ::geteuid())
    return environment_error(
        EACCES, fmt::format("{} belongs to user {}, and hwprof runs as user {}", folder,
                            status.st_uid, ::geteuid()));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return environment_error(EACCES, fmt::format("others may write into {}", folder));
  return {};
}

// Never in a folder of somebody else's, where root could make one: that user could not use it then.
Result<void> make_own(const std::string& folder) {
  if (::access(folder.c_str(), F_OK) != 0) {
    TRY(check_own(parent_of(folder)));
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
      return environment_error(errno, fmt::format("{}: {}", folder, std::strerror(errno)));
  }
  return check_own(folder);
}

// Letters, digits, '-', '.' and '_' of each part.
std::string file_of(const std::string& folder, const model::CalibrationKey& key) {
  std::string name = fmt::format("{}_{}_{}_{}", key.cpu_id, key.pmu, key.microcode, key.kernel);
  for (char& letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                       letter == '_' || letter == '-';
    if (!plain) letter = '-';
  }
  return fmt::format("{}/calibration_{}.json", folder, name);
}

Result<model::Calibration> parse(const std::string& text) {
  TRY(model::check_json(text));
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return usage_error("it is no JSON, or cut off");
  const auto schema = json.find("schema");
  if (schema == json.end() || *schema != model::record<model::Calibration>().schema)
    return usage_error("it is of another version of hwprof");
  return model::from_json<model::Calibration>(json);
}

}  // namespace

model::CalibrationKey calibration_key(const Machine& machine, unsigned cpu,
                                      std::string_view cpuinfo) {
  model::CalibrationKey key{format_cpu_id(machine.id), "", "", machine.kernel};
  if (const PmuDevice* device = machine.pmu.for_cpu(cpu); device != nullptr) key.pmu = device->name;
  for (const std::string_view line : split(cpuinfo, '\n')) {
    if (!line.starts_with("microcode")) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) key.microcode = trim(line.substr(colon + 1));
    break;
  }
  return key;
}

model::CalibrationKey calibration_key(const Machine& machine, unsigned cpu) {
  return calibration_key(machine, cpu, read_text_file("/proc/cpuinfo").value_or(""));
}

Result<std::string> cache_folder(const char* xdg_cache_home, const char* home) {
  // The specification wants paths that are not absolute to be ignored.
  if (xdg_cache_home != nullptr && xdg_cache_home[0] == '/')
    return std::string(xdg_cache_home) + "/hwprof";
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/hwprof";
  return environment_error(0, "neither XDG_CACHE_HOME nor HOME names a folder");
}

Result<std::string> keep_calibration(const std::string& folder,
                                     const model::Calibration& calibration) {
  TRY(make_own(parent_of(folder)));
  TRY(make_own(folder));
  std::string path = file_of(folder, calibration.key);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 &&
      (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()))
    return environment_error(EACCES, path + " is no file of this user's");
  TRY(write_file(path, report::json_of(calibration)));
  return path;
}

Result<std::optional<model::Calibration>> kept_calibration(const std::string& folder,
                                                           const model::CalibrationKey& key) {
  const std::string path = file_of(folder, key);
  const Result<std::string> text =
      read_untrusted(path, {.owner = ::geteuid(), .most_bytes = kLargestCalibration});
  if (!text && text.error().code == ENOENT) return std::nullopt;
  if (!text) return error_of(text);
  TRY(check_own(folder));
  Result<model::Calibration> calibration = parse(*text);
  if (!calibration) {
    return environment_error(0, fmt::format("{} is not used: {}", path, calibration.error().what));
  }
  // Two machines whose names differ by signs that file names do not have.
  if (calibration->key != key) return std::nullopt;
  return std::optional(*std::move(calibration));
}

void use_kept_calibration(const Machine& machine, unsigned cpu) {
  if (machine.pmu.for_cpu(cpu) == nullptr) return;
  const Result<std::string> folder =
      cache_folder(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"));
  if (!folder) return;
  const auto kept = kept_calibration(*folder, calibration_key(machine, cpu));
  if (!kept) {
    spdlog::warn("no calibration of events: {}", kept.error().what);
  } else if (*kept) {
    set_event_notes(notes_of(**kept));
  }
}

}  // namespace hwprof
