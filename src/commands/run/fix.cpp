#include "src/commands/run/fix.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/blas/judge/trial.h"
#include "src/commands/run/repetition.h"
#include "src/measure/disturbance.h"
#include "src/measure/thread_sentences.h"
#include "src/measure/tried.h"
#include "src/observe/proc/cpu_users.h"

namespace hwprof {
namespace {

constexpr double kDisturbing = 0.1;  // CPUs: a spinning barrier then waits 4 to 50 times as long
constexpr double kNsPerS = 1e9;

// What others had of the CPUs beside the program's runs and hwprof.
class Others {
 public:
  explicit Others(CpuList cpus) : busy_(cpus), users_(std::move(cpus)) {}
  void add_own(double seconds) { own_s_ += seconds; }
  [[nodiscard]] std::optional<double> cpus() const {
    const auto busy = busy_.ticks();
    if (!busy) return std::nullopt;
    const double busy_s = static_cast<double>(*busy) / kTicksPerSecond;
    const double wall_s = (wall_ns() - begin_ns_) / kNsPerS;
    return std::max(0.0, busy_s - own_s_ - (process_cpu_ns() - begin_own_ns_) / kNsPerS) / wall_s;
  }
  [[nodiscard]] std::string names() const {
    std::string text;
    for (const report::CpuUser& user : users_.since())
      text += fmt::format("{}{} ({})", text.empty() ? ": " : ", ", user.name, user.pid);
    return text;
  }

 private:
  BusyCpus busy_;
  CpuUsers users_;
  double begin_ns_ = wall_ns(), begin_own_ns_ = process_cpu_ns(), own_s_ = 0;
};

// One side of the comparison: as it is, or a setting.
struct Side {
  report::TriedSetting* setting = nullptr;  // nullptr: as it is
  TimedStart start;
  std::vector<RunEnding> endings;
  double wall_s = 0, cpu_s = 0;  // of this round

  [[nodiscard]] std::string name() const { return setting ? setting->tried : "as it is"; }
  [[nodiscard]] bool out() const { return setting != nullptr && !setting->stopped.empty(); }
};

class Rounds {
 public:
  Rounds(const RunRequest& request, const CommandInput& input, observe::MonitorClient& monitor,
         report::Run& record)
      : request_(request), input_(input), monitor_(monitor), record_(record), fix_(*record.fix) {
    sides_.push_back(side_of(nullptr));
    sides_.push_back(side_of(&fix_));
    for (report::TriedSetting& other : fix_.others) sides_.push_back(side_of(&other));
  }

  void run();

 private:
  [[nodiscard]] Side side_of(report::TriedSetting* setting) const {
    Side side;
    side.setting = setting;
    side.start = {.quiet = true, .no_migrations = "not asked for"};
    if (setting != nullptr) side.start.changes = setting->changes;
    return side;
  }
  [[nodiscard]] std::string why_to_end() const;
  bool run_round();
  bool run_side(Side& side);
  void keep_round();
  void finish();

  const RunRequest& request_;
  const CommandInput& input_;
  observe::MonitorClient& monitor_;
  report::Run& record_;
  report::Fix& fix_;
  std::vector<Side> sides_;
  Others others_{request_.pin.empty() ? allowed_cpus() : request_.pin};
  std::mt19937 random_{1};  // the same order each time: it is to be mixed, not secret
  double begin_ns_ = wall_ns();
  bool said_going_on_ = false;
};

// Before a round, so that the budget holds: as long as the mean of those before is what it takes.
std::string Rounds::why_to_end() const {
  if (std::all_of(sides_.begin() + 1, sides_.end(), [](const Side& side) { return side.out(); }))
    return "no setting is left to be run";
  const auto rounds = static_cast<double>(fix_.as_is_wall_s.size());
  const double spent_s = (wall_ns() - begin_ns_) / kNsPerS;
  if (request_.fix.budget_s && rounds > 0 && spent_s + spent_s / rounds > *request_.fix.budget_s)
    return fmt::format("the budget of {} s was used up", *request_.fix.budget_s);
  return "";
}

// False: the program as it is failed, or nothing more is to be run.
bool Rounds::run_side(Side& side) {
  input_.rewind();
  const auto ended = time_command(side.start, record_.machine, monitor_);
  if (!ended) {
    fix_.stopped_rounds = "a run could not be started: " + ended.error().what;
    return false;
  }
  side.wall_s = ended->run.wall_s;
  side.cpu_s = ended->run.user_s + ended->run.system_s;
  others_.add_own(side.cpu_s);
  const std::string what = fmt::format("round {}, {}", fix_.as_is_wall_s.size() + 1, side.name());
  spdlog::info("{}: {} s", what, side.wall_s);
  if (ended->goes_on && !said_going_on_) {
    said_going_on_ = true;
    record_.warnings.push_back({"processes-go-on", "a process that a run (" + what +
                                                       ") started goes on beside those after it"});
  }
  if (const int wanted = monitor_.end_wanted(); wanted != 0) {
    fix_.stopped_rounds = why_to_stop(what, ended->exit, request_, wanted);
    return false;
  }
  side.endings.push_back({ended->exit, ended->written.count, ended->written.hash});
  const std::string failed = why_to_stop(what, ended->exit, request_, 0);
  if (failed.empty()) return true;
  // With a setting alone: that is what there is to say of it, and the others go on.
  (side.setting != nullptr ? side.setting->stopped : fix_.stopped_rounds) = failed;
  return side.setting != nullptr;
}

bool Rounds::run_round() {
  std::vector<std::size_t> order(sides_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t i : order)
    if (!sides_[i].out() && !run_side(sides_[i])) return false;
  keep_round();
  return true;
}

void Rounds::keep_round() {
  for (const Side& side : sides_) {
    if (side.out()) continue;
    (side.setting != nullptr ? side.setting->wall_s : fix_.as_is_wall_s).push_back(side.wall_s);
    (side.setting != nullptr ? side.setting->cpu_s : fix_.as_is_cpu_s).push_back(side.cpu_s);
  }
}

void Rounds::finish() {
  fix_.other_programs = others_.cpus();
  if (fix_.other_programs.value_or(0) > kDisturbing) {
    record_.warnings.push_back(
        {"other-programs",
         fmt::format("other programs used {:.2g} CPUs beside the rounds of {}{}: on a quiet "
                     "machine the ratios may be others",
                     *fix_.other_programs, request_.fix.verdict ? "--try-fix" : "--try",
                     others_.names())});
  }
  for (const Side& side : sides_)
    if (side.setting != nullptr) judge_output(sides_.front().endings, side.endings, *side.setting);
  const std::vector<RunEnding>& as_is = sides_.front().endings;
  if (!as_is.empty() && as_is.front().bytes == 0)
    fix_.notes.emplace_back(
        "The program writes nothing to standard output: that it stayed the same says little.");
  conclude(fix_);
  if (!fix_.stopped_rounds.empty()) record_.warnings.push_back({"try", fix_.stopped_rounds});
  take_wanted_end(monitor_, record_);
}

void Rounds::run() {
  fix_.stopped_rounds =
      why_to_stop("the observed run", record_.exit, request_, monitor_.end_wanted());
  while (fix_.stopped_rounds.empty() && !rounds_suffice(fix_)) {
    fix_.stopped_rounds = why_to_end();
    if (!fix_.stopped_rounds.empty() || !run_round()) break;
  }
  finish();
}

// A folder that comes first, before those that the program looks into anyway.
std::string kept_with_own(std::string change) {
  const std::string path = "LD_LIBRARY_PATH=";
  const char* own = std::getenv("LD_LIBRARY_PATH");
  if (change.starts_with(path) && own != nullptr && *own != '\0') change += ":" + std::string(own);
  return change;
}

std::vector<std::vector<std::string>> settings_to_try(const FixRequest& request,
                                                      const report::Run& record) {
  if (!request.verdict) return request.settings;
  std::vector<std::vector<std::string>> settings;
  std::vector<std::string> changes = blas::changes_to_try(record.blas.fix);
  for (std::string& change : changes) change = kept_with_own(std::move(change));
  if (!changes.empty()) settings.push_back(std::move(changes));
  if (!record.threads) return settings;
  for (std::string& change : changes_to_try(record.threads->sentences))
    if (std::find(settings.begin(), settings.end(), std::vector{change}) == settings.end())
      settings.push_back({std::move(change)});
  return settings;
}

report::TriedSetting made_setting(const std::vector<std::string>& changes) {
  report::TriedSetting setting;
  setting.changes = changes;
  setting.tried = blas::changes_in_words(changes);
  setting.job_line = blas::job_line(changes);
  return setting;
}

}  // namespace

void try_settings(const RunRequest& request, const CommandInput& input,
                  observe::MonitorClient& monitor, report::Run& record) {
  report::Fix& fix = record.fix.emplace();
  const auto settings = settings_to_try(request.fix, record);
  if (settings.empty()) {
    fix.result =
        record.blas.fix.empty()
            ? "Nothing was tried: the verdict names no fix, nor does what is said of the threads"
            : "Nothing was tried: the fix that the verdict names is no change of the environment";
    fix.output_reason = fix.ratio_reason = "nothing was tried";
    return;
  }
  static_cast<report::TriedSetting&>(fix) = made_setting(settings.front());
  for (std::size_t i = 1; i < settings.size(); ++i) fix.others.push_back(made_setting(settings[i]));
  fix.notes.emplace_back(
      "Each round runs the program once as it is and once with each setting, in shuffled order, "
      "timed and not observed; standard output and error of these runs are not shown.");
  fix.notes.emplace_back(
      "Ratio: time with the setting over time as it is, below 1 is faster; Hodges-Lehmann estimate "
      "with the signed-rank interval, 95 % for all settings and all three looks (9, 20 and 40 "
      "rounds) together. A factor is said where the interval lies wholly beyond 1.05.");
  const std::string rest = request.fix.verdict ? blas::not_to_try(record.blas.fix) : "";
  if (!rest.empty()) fix.notes.push_back("Of the fix this part was not tried: " + rest);
  Rounds(request, input, monitor, record).run();
}

}  // namespace hwprof
