#include "src/measure/tried.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "src/base/format.h"
#include "src/measure/paired.h"

namespace hwprof {
namespace {

using report::counted;
using report::Fix;
using report::significant;
using report::TriedSetting;

std::vector<TriedSetting*> settings_of(Fix& fix) {
  std::vector<TriedSetting*> all{&fix};
  for (TriedSetting& other : fix.others) all.push_back(&other);
  return all;
}

std::optional<PairedRatio> ratio_of(const std::vector<double>& as_is,
                                    const std::vector<double>& changed, std::size_t settings) {
  return paired_ratio(as_is, changed, level_after(changed.size(), settings));
}

std::vector<double> as_list(const std::optional<PairedRatio>& ratio) {
  return ratio ? std::vector{ratio->low, ratio->estimate, ratio->high} : std::vector<double>();
}

std::optional<PairedRatio> as_ratio(const std::vector<double>& list) {
  if (list.size() != 3) return std::nullopt;
  return PairedRatio{list[0], list[1], list[2]};
}

std::string ratio_text(const PairedRatio& ratio) {
  return report::with_bounds(ratio.estimate, ratio.low, ratio.high);
}

// "1.43 times faster (1.3 to 1.55)"; a ratio below 1 is turned round.
std::string said_text(const PairedRatio& ratio, const char* less, const char* more) {
  const bool below = ratio.estimate < 1;
  const auto shown = [&](double value) { return significant(below ? 1 / value : value, 3); };
  return fmt::format("{} times {} ({} to {})", shown(ratio.estimate), below ? less : more,
                     shown(below ? ratio.high : ratio.low), shown(below ? ratio.low : ratio.high));
}

// "; it takes 6.5 times less CPU time (6.1 to 7)"; "" where nothing is to be said.
std::string cpu_text(const TriedSetting& setting) {
  const auto ratio = as_ratio(setting.cpu_ratio);
  if (what_to_say(ratio) == Said::kNothing || !setting.stopped.empty()) return "";
  return "; it takes " + said_text(*ratio, "less CPU time", "more CPU time");
}

std::string wall_text(const TriedSetting& setting) {
  if (!setting.stopped.empty()) return "the command fails";
  const auto ratio = as_ratio(setting.wall_ratio);
  if (!ratio) return "nothing can be said of its time: " + setting.ratio_reason;
  if (what_to_say(ratio) != Said::kNothing)
    return "the program is " + said_text(*ratio, "faster", "slower");
  if (leaves_out_one(ratio))
    return "the program's time is " + ratio_text(*ratio) +
           " of that as it is, which is not surely 1.05 times apart";
  return "no difference in wall time can be told: ratio " + ratio_text(*ratio);
}

bool is_faster(const TriedSetting& setting) {
  return what_to_say(as_ratio(setting.wall_ratio)) == Said::kFaster;
}

bool is_worth_it(const TriedSetting& setting) {
  if (setting.same_output == false || !setting.stopped.empty()) return false;
  const Said wall = what_to_say(as_ratio(setting.wall_ratio));
  const Said cpu = what_to_say(as_ratio(setting.cpu_ratio));
  return wall == Said::kFaster || (wall == Said::kNothing && cpu == Said::kFaster);
}

// The winner stands first.
void put_best_first(Fix& fix) {
  const auto better = [](const TriedSetting& a, const TriedSetting& b) {
    const bool worth = is_worth_it(a) && is_faster(a);
    if (worth != (is_worth_it(b) && is_faster(b))) return worth;
    return worth && a.wall_ratio[1] < b.wall_ratio[1];
  };
  const auto best = std::min_element(fix.others.begin(), fix.others.end(), better);
  if (best != fix.others.end() && better(*best, fix))
    std::swap(static_cast<TriedSetting&>(fix), *best);
}

std::string names_where(const Fix& fix, bool (*wanted)(const TriedSetting&)) {
  std::string names;
  for (const TriedSetting& other : fix.others)
    if (wanted(other)) names += (names.empty() ? "" : "; ") + other.tried;
  return names;
}

std::string output_text(const TriedSetting& setting) {
  return setting.same_output == false ? "; its output changed: " + setting.output_reason : "";
}

std::string result_of(const Fix& fix) {
  if (fix.others.empty())
    return fmt::format("With {} {}{}{}", fix.tried, wall_text(fix), cpu_text(fix),
                       output_text(fix));
  const std::size_t count = fix.others.size() + 1;
  if (!fix.worth_it || !is_faster(fix)) {
    const std::string cheaper =
        (fix.worth_it ? fix.tried : "") +
        std::string(fix.worth_it && !names_where(fix, is_worth_it).empty() ? "; " : "") +
        names_where(fix, is_worth_it);
    return fmt::format("None of the {} settings is surely faster than the program as it is{}",
                       count, cheaper.empty() ? "" : "; less CPU time with " + cheaper);
  }
  const std::string also = names_where(fix, is_faster);
  return fmt::format("Of {} settings {} wins: {}{}{}", count, fix.tried, wall_text(fix),
                     cpu_text(fix), also.empty() ? "" : "; faster than as it is, too: " + also);
}

void take_ratios(const Fix& fix, std::size_t settings, TriedSetting& setting) {
  setting.rounds = setting.wall_s.size();
  setting.wall_ratio = as_list(ratio_of(fix.as_is_wall_s, setting.wall_s, settings));
  setting.cpu_ratio = as_list(ratio_of(fix.as_is_cpu_s, setting.cpu_s, settings));
  if (!setting.wall_ratio.empty() && !setting.cpu_ratio.empty()) return;
  setting.ratio_reason =
      setting.wall_ratio.empty()
          ? fmt::format("{} are too few for an interval of 95 %{}",
                        counted(setting.rounds, "round"),
                        settings > 1 ? fmt::format(" of each of {} settings", settings) : "")
          : "a run took less CPU time than the kernel accounts";
}

}  // namespace

void judge_output(const std::vector<RunEnding>& as_is, const std::vector<RunEnding>& changed,
                  TriedSetting& setting) {
  if (changed.empty() || as_is.empty()) {
    setting.output_reason = "it did not run to its end";
    return;
  }
  const RunEnding& first = as_is.front();
  const auto differs = [&](const RunEnding& ending) { return ending != first; };
  if (std::any_of(as_is.begin(), as_is.end(), differs)) {
    setting.output_reason =
        "the program's own output differs from run to run as it is: nothing can be said";
    return;
  }
  const auto other = std::find_if(changed.begin(), changed.end(), differs);
  if (other == changed.end() && as_is.size() < 2) {
    setting.output_reason =
        "the program ran once as it is: not known whether its output is always the same";
    return;
  }
  setting.same_output = other == changed.end();
  if (other == changed.end()) return;
  setting.output_reason =
      other->exit != first.exit
          ? fmt::format("exit code {}, as it is {}", other->exit, first.exit)
          : fmt::format("standard output has {} bytes, as it is {}{}", other->bytes, first.bytes,
                        other->bytes == first.bytes ? ", and others" : "");
}

bool rounds_suffice(const Fix& fix) {
  const std::size_t rounds = fix.as_is_wall_s.size();
  if (!is_look(rounds)) return false;
  if (rounds >= *std::prev(std::end(kLooks))) return true;
  const auto decided = [&](const TriedSetting& setting) {
    return !setting.stopped.empty() ||
           leaves_out_one(ratio_of(fix.as_is_wall_s, setting.wall_s, fix.others.size() + 1));
  };
  return decided(fix) && std::all_of(fix.others.begin(), fix.others.end(), decided);
}

void conclude(Fix& fix) {
  const std::size_t settings = fix.others.size() + 1;
  for (TriedSetting* setting : settings_of(fix)) take_ratios(fix, settings, *setting);
  put_best_first(fix);
  fix.worth_it = is_worth_it(fix);
  fix.result = result_of(fix);
}

}  // namespace hwprof
