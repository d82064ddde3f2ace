#include "src/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "src/base/text.h"

namespace hwprof::cli {
namespace {

// "Count these events" of "Count these events, separated by commas: ... Default: ...".
std::string first_clause(const std::string& help) {
  std::size_t end = std::min(help.find(". "), help.find(": "));
  if (end == std::string::npos && help.ends_with('.')) end = help.size() - 1;
  return help.substr(0, end);
}

bool stands_for_a_file(std::string_view shown) {
  constexpr std::string_view kFiles[] = {"FILE", "PATH", "DIR", "HWPROF"};
  return std::any_of(std::begin(kFiles), std::end(kFiles), [shown](std::string_view word) {
    return shown.find(word) != std::string_view::npos;
  });
}

class Answer {
 public:
  explicit Answer(std::string typed) : typed_(std::move(typed)) {}

  void offer(const std::string& text, const std::string& help) {
    if (text.starts_with(typed_)) lines_ += fmt::format("{}\t{}\n", text, help);
  }

  void ask(std::string_view line) { lines_ += fmt::format(":{}\n", line); }

  // Of an option, or of the words that belong to none; behind `before`, as in "--events=".
  void offer_values(const OptionHelp& option, const std::string& before = "") {
    std::string kept = before;
    if (option.adds_up) kept = typed_.substr(0, std::max(typed_.rfind(',') + 1, before.size()));
    const std::vector<std::string_view> there =
        split(std::string_view(kept).substr(before.size()), ',');
    const std::vector<Candidate> candidates =
        option.candidates ? option.candidates() : std::vector<Candidate>{};
    for (const Candidate& candidate : candidates) {
      if (std::find(there.begin(), there.end(), candidate.text) == there.end())
        offer(kept + candidate.text, first_clause(candidate.help));
    }
    if (stands_for_a_file(option.shown)) ask("file");
    if (option.adds_up && !candidates.empty()) ask("nospace");
  }

  [[nodiscard]] const std::string& lines() const { return lines_; }

 private:
  std::string typed_;
  std::string lines_;
};

const OptionHelp* find(const std::vector<OptionHelp>& options, std::string_view name) {
  for (const OptionHelp& option : options)
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end())
      return &option;
  return nullptr;
}

bool given(const OptionHelp& option, std::span<const std::string> words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  });
}

void offer_options(Answer& answer, const std::vector<OptionHelp>& options,
                   std::span<const std::string> before) {
  for (const OptionHelp& option : options) {
    if (given(option, before) && !option.adds_up) continue;
    for (const std::string& name : option.names) answer.offer(name, first_clause(option.help));
  }
}

// `before`: what is typed behind the command's name, before the word `typed`, from word `first` on.
std::string complete_command(const CommandHelp& command, std::span<const std::string> before,
                             std::size_t first, const std::string& typed,
                             const std::vector<OptionHelp>& more_options) {
  Answer answer(typed);
  const auto dashes = std::find(before.begin(), before.end(), "--");
  if (command.takes_command && dashes != before.end()) {
    const auto at = first + static_cast<std::size_t>(dashes - before.begin()) + 1;
    const bool files =
        !command.words.empty() && command.words.front().shown.find("--") != std::string::npos;
    answer.ask(files ? "file" : fmt::format("command {}", at));
    return answer.lines();
  }
  const OptionHelp* last = before.empty() ? nullptr : find(command.options, before.back());
  if (last != nullptr && !last->shown.empty()) {
    answer.offer_values(*last);
    return answer.lines();
  }
  const std::size_t equals = typed.find('=');
  const OptionHelp* named =
      typed.starts_with("--") ? find(command.options, typed.substr(0, equals)) : nullptr;
  if (equals != std::string::npos && named != nullptr) {
    if (!named->shown.empty()) answer.offer_values(*named, typed.substr(0, equals + 1));
    return answer.lines();
  }
  if (typed.starts_with('-')) {
    offer_options(answer, command.options, before);
    offer_options(answer, more_options, before);
    return answer.lines();
  }
  for (const OptionHelp& word : command.words) answer.offer_values(word);
  if (command.takes_command) answer.offer("--", "what follows is a command");
  return answer.lines();
}

}  // namespace

std::string complete(const ProgramHelp& program, const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.back();
  const auto before = std::span(words).first(words.empty() ? 0 : words.size() - 1);
  const bool named = !before.empty() && !before.front().starts_with('-');
  if (before.empty() && !typed.starts_with('-')) {
    Answer answer(typed);
    for (const CommandHelp& command : program.commands) answer.offer(command.name, command.help);
    return answer.lines();
  }
  if (!named) {  // the default command's options; before them those that stand alone
    return complete_command(program.commands.front(), before, 0, typed,
                            before.empty() ? program.options : std::vector<OptionHelp>{});
  }
  for (const CommandHelp& command : program.commands)
    if (command.name == before.front())
      return complete_command(command, before.subspan(1), 1, typed, {});
  return {};
}

}  // namespace hwprof::cli
