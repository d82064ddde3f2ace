#include "src/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "src/base/suggest.h"

namespace hwprof::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;

std::string main_help(std::span<const Command> commands) {
  std::string text =
      "hwprof: counts what the hardware did in numeric code, and says whether the optimized BLAS\n"
      "did it and how far that is from the machine's peak.\n\n"
      "Usage: hwprof [COMMAND] [OPTIONS]\n\nCommands:\n";
  for (const Command& command : commands) {
    text += fmt::format("  {:<10} {}\n", command.name, command.help);
  }
  text += fmt::format(
      "\nWithout COMMAND: {0}.\n\n"
      "  hwprof --pin 0 --events flops,llc-miss   the main job on CPU 0\n"
      "  hwprof run -- python3 train.py           which BLAS does any program use?\n"
      "  hwprof {0} --help                    its options\n"
      "  hwprof --version\n\n"
      "Exit codes: 0 done, 1 a check says no (--require, doctor), 2 wrong usage or input,\n"
      "3 could not be measured, 130 interrupted; run: that of the command.\n",
      commands.front().name);
  return text;
}

const Command* find(std::span<const Command> commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

tl::unexpected<Error> unknown(std::string_view kind, std::string_view word,
                              const std::vector<std::string_view>& known, std::string_view help) {
  const std::string near = did_you_mean(nearest(word, std::span<const std::string_view>(known)));
  return usage_error(fmt::format("unknown {} '{}'", kind, word),
                     near.empty() ? fmt::format("see {}", help) : near);
}

// What CLI11 took for neither an option nor its value.
Result<void> check_no_extras(const CLI::App& app, std::span<const Command> commands,
                             const Command& command) {
  const std::string help = fmt::format("hwprof {} --help", command.name);
  const std::vector<std::string> extras = app.remaining();
  const auto extra =
      std::find_if(extras.begin(), extras.end(), [](const auto& word) { return word != "--"; });
  if (extra == extras.end()) return {};
  if (find(commands, *extra) != nullptr) {
    return usage_error(fmt::format("the command '{}' must be the first word", *extra),
                       fmt::format("hwprof {} OPTIONS", *extra));
  }
  const bool behind_dashes = extra != extras.begin();
  if (behind_dashes || extra->size() < 2 || extra->front() != '-') {
    return usage_error(
        fmt::format("unexpected argument '{}'", *extra),
        command.takes_command
            ? fmt::format("the command stands behind dashes: hwprof {} -- COMMAND ARGS",
                          command.name)
            : fmt::format("see {}", help));
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string word =
      extra->compare(0, 2, "--") == 0 ? extra->substr(0, extra->find('=')) : *extra;
  return unknown("option", word, {names.begin(), names.end()}, help);
}

// CLI11's exceptions end here.
Result<void> parse_words(CLI::App& app, std::vector<std::string> words, std::string& text) {
  std::reverse(words.begin(), words.end());  // CLI11 wants them so
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    text = app.help();
  } catch (const CLI::ArgumentMismatch& mismatch) {
    // "--pin: 1 required FILE missing", or for a flag "quiet was given a disallowed ...".
    const std::string what = mismatch.what();
    const std::string name = what.substr(0, what.find_first_of(": "));
    return usage_error(name.front() == '-' ? fmt::format("{} needs a value", name)
                                           : fmt::format("--{} takes no value", name));
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  return {};
}

}  // namespace

std::vector<std::string> words_behind_dashes(const std::vector<std::string>& command_line) {
  const auto dashes = std::find(command_line.begin(), command_line.end(), "--");
  return {dashes == command_line.end() ? dashes : dashes + 1, command_line.end()};
}

Result<Invocation> parse(std::span<const Command> commands, const std::vector<std::string>& args) {
  const std::string first = args.empty() ? std::string() : args.front();
  if (first == "--help" || first == "-h") return Invocation{main_help(commands), {}};
  if (first == "--version") return Invocation{"hwprof " HWPROF_VERSION "\n", {}};

  const bool named = !args.empty() && (first.empty() || first.front() != '-');
  const Command* command = named ? find(commands, first) : &commands.front();
  if (command == nullptr) {
    std::vector<std::string_view> names;
    for (const Command& known : commands) names.push_back(known.name);
    return unknown("command", first, names, "hwprof --help");
  }
  CLI::App app(std::string(command->help), fmt::format("hwprof {}", command->name));
  app.get_formatter()->column_width(kHelpColumn);
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.allow_extras();
  Action action = command->declare(app);

  Invocation invocation;
  const auto words_begin = args.begin() + (named ? 1 : 0);
  const auto words_end =
      command->takes_command ? std::find(words_begin, args.end(), "--") : args.end();
  if (auto parsed = parse_words(app, {words_begin, words_end}, invocation.text); !parsed) {
    return error_of(parsed);
  }
  if (!invocation.text.empty()) return invocation;
  if (auto none = check_no_extras(app, commands, *command); !none) {
    return error_of(none);
  }
  std::vector<std::string> command_line = {"hwprof"};
  command_line.insert(command_line.end(), args.begin(), args.end());
  invocation.run = [action = std::move(action), command_line = std::move(command_line)] {
    return action(command_line);
  };
  return invocation;
}

}  // namespace hwprof::cli
