#include "src/observe/proc/process_list.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof {
namespace {

constexpr std::size_t kFirst = 3;  // number of stat_fields()[0] in proc(5)

bool is_all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "123" of "job_123"; "" where it does not begin so.
std::string_view after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
}

// Variables that a scheduler sets for each process of a job, with what it is called.
struct JobVariable {
  std::string_view variable, scheduler;
};
constexpr JobVariable kJobVariables[] = {
    {"SLURM_JOB_ID", "slurm"}, {"PBS_JOBID", "pbs"}, {"LSB_JOBID", "lsf"}, {"FLUX_JOB_ID", "flux"}};
constexpr std::string_view kSlurmStep = "SLURM_STEP_ID";

}  // namespace

std::optional<ListedProcess> listed_process(pid_t pid, std::string_view stat,
                                            const std::string& status) {
  const std::vector<std::string_view> fields = stat_fields(stat);
  const auto name_begin = stat.find('('), name_end = stat.rfind(')');
  if (fields.size() < 22 - kFirst + 1 || name_begin >= name_end) return std::nullopt;
  const auto field = [&](std::size_t number) {
    return parse_unsigned(fields[number - kFirst]).value_or(0);
  };
  const bool main_ended = fields[0] == "Z" || fields[0] == "X";
  if ((main_ended && field(20) <= 1) || (field(9) & kKernelThread) != 0) return std::nullopt;
  const auto starter = account_in(status, pid);
  if (!starter) return std::nullopt;
  ListedProcess process;
  process.pid = pid;
  process.name = stat.substr(name_begin + 1, name_end - name_begin - 1);
  process.starter = *starter;
  process.user = effective_user(status).value_or(starter->uid);
  process.cpu_s = static_cast<double>(field(14) + field(15)) / ticks_a_second();
  process.threads = field(20);
  process.main_ended = main_ended;
  process.start_ticks = field(22);
  return process;
}

double seconds_after_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<double> cpus_used_in_life(const ListedProcess& process, double now_after_boot_s) {
  constexpr double kShortest = 0.1;  // ten ticks: CPU time comes in whole ones
  const double life =
      now_after_boot_s - static_cast<double>(process.start_ticks) / ticks_a_second();
  if (life < kShortest) return std::nullopt;
  return process.cpu_s / life;
}

// "0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", and a line a controller before
// cgroup v2: "4:memory:/slurm/uid_1000/job_123/step_batch".
Job job_of_cgroup(std::string_view cgroup) {
  std::string_view unit;
  for (const std::string_view line : split(cgroup, '\n')) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view path = line.substr(second + 1);
    std::string_view job, step;
    bool of_slurm = false;
    for (const std::string_view part : split(path, '/')) {
      of_slurm = of_slurm || part.starts_with("slurm") || part.find("_slurmstepd") != part.npos;
      if (of_slurm && is_all_digits(after(part, "job_"))) job = after(part, "job_");
      if (!job.empty() && part.starts_with("step_")) step = after(part, "step_");
      // What systemd, and container managers under it, name a unit of work.
      if (part.ends_with(".scope") || part.ends_with(".service")) unit = part;
    }
    if (!job.empty())
      return {fmt::format("slurm {}{}{}", job, step.empty() ? "" : ".", step), "cgroup"};
  }
  return unit.empty() ? Job{} : Job{std::string(unit), "cgroup"};
}

bool names_job(std::string_view variable) {
  return variable == kSlurmStep ||
         std::any_of(std::begin(kJobVariables), std::end(kJobVariables),
                     [&](const JobVariable& one) { return one.variable == variable; });
}

Job job_of_variables(const std::vector<std::pair<std::string, std::string>>& variables) {
  const auto value_of = [&](std::string_view name) {
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [&](const auto& one) { return one.first == name; });
    return found == variables.end() ? std::string() : found->second;
  };
  for (const JobVariable& one : kJobVariables) {
    const std::string job = value_of(one.variable);
    if (job.empty()) continue;
    const std::string step = one.scheduler == "slurm" ? value_of(kSlurmStep) : std::string();
    return {fmt::format("{} {}{}{}", one.scheduler, job, step.empty() ? "" : ".", step),
            "environment"};
  }
  return {};
}

}  // namespace hwprof
