#include "src/cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "src/base/suggest.h"
#include "src/base/text.h"
#include "src/cli/completion.h"
#include "src/cli/groups.h"
#include "src/cli/man_page.h"

namespace hwprof::cli {
namespace {

constexpr const char* kHelpOfHelp = "Print this help and exit.";
constexpr std::size_t kHelpWidth = 80, kHelpColumn = 26;

// The log is for people, on standard error, so that reports on standard output stay whole; until
// this is called spdlog would write to standard output.
void start_log(Verbosity verbosity) {
  // The sink has colour on terminals only; NO_COLOR (no-color.org) counts when it is not empty.
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = no_color != nullptr && *no_color != '\0';
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_st>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  auto logger = std::make_shared<spdlog::logger>("hwprof", std::move(sink));
  logger->set_pattern("%n: %^%l%$: %v");
  logger->set_level(verbosity == Verbosity::kVerbose ? spdlog::level::debug
                    : verbosity == Verbosity::kQuiet ? spdlog::level::err
                                                     : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

// CLI11 gives an option whatever word follows, were it the next option: `--pin --events flops`.
std::string not_an_option(const std::string& value) {
  const bool option = value.size() > 1 && value[0] == '-' &&
                      (value[1] == '-' || std::isalpha(static_cast<unsigned char>(value[1])) != 0);
  if (!option) return {};
  return fmt::format("a value is missing before '{}' (a file of that name: ./{})", value, value);
}

// CLI11 2.1 wraps nothing.
std::string wrap(const std::string& text, std::size_t width = kHelpWidth - kHelpColumn) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    if (column > 0 && column + 1 + end - start > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0) out += ' ', ++column;
    out.append(text, start, end - start);
    column += end - start;
    start = end + 1;
  }
  return out;
}

// "-o,--output" -> {"-o", "--output"}
std::vector<std::string> names_of(const char* names) {
  std::vector<std::string> all;
  for (const std::string_view name : split(names, ',')) all.emplace_back(name);
  return all;
}

// What is typed for an option, its values joined by commas.
Result<std::string> typed(const std::string& name, bool adds_up,
                          const std::vector<std::string>& values) {
  if (values.size() > 1 && !adds_up)
    return usage_error(fmt::format("{} is given {} times", name, values.size()), "give it once");
  if (std::any_of(values.begin(), values.end(), [](const auto& text) { return text.empty(); }))
    return usage_error(fmt::format("{} has an empty value", name));
  return fmt::format("{}", fmt::join(values, ","));
}

}  // namespace

Option Option::adds_up() {
  row_->adds_up = row_->help.adds_up = true;
  return *this;
}

Option Option::completes(Candidates candidates) {
  row_->help.candidates = std::move(candidates);
  return *this;
}

Option Option::needs(const Option& other) {
  row_->option->needs(other.row_->option);
  return *this;
}

Option Option::excludes(const Option& other) {
  row_->option->excludes(other.row_->option);
  return *this;
}

bool Option::given() const { return row_->option->count() > 0; }

std::string Option::name() const { return row_->option->get_name(); }

Option Options::value(const char* names, const char* shown, Read read, const std::string& help) {
  CLI::Option* option = app_->add_option(names)
                            ->description(wrap(help))
                            ->option_text(shown)
                            ->allow_extra_args(false)
                            ->check(not_an_option)
                            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                            ->group(group_);
  return Option(rows_.emplace_back(
      Option::Row{option, std::move(read), {names_of(names), shown, help, group_}}));
}

Option Options::flag(const char* names, bool& to, const std::string& help, bool value) {
  // A text of its own keeps CLI11 from listing there what the flag excludes.
  CLI::Option* option = app_->add_flag(names)
                            ->description(wrap(help))
                            ->option_text(" ")
                            ->disable_flag_override()
                            ->group(group_);
  const auto set = [&to, value](const std::string&, const std::string&) -> Result<void> {
    to = value;
    return {};
  };
  return Option(
      rows_.emplace_back(Option::Row{option, set, {names_of(names), "", help, group_}, true}));
}

void Options::words(const char* name, const char* shown, std::vector<std::string>& to,
                    const std::string& help, Candidates candidates) {
  app_->add_option(name, to, wrap(help))->option_text(shown);
  words_.push_back({{}, shown, help, "", false, std::move(candidates)});
}

void Options::footer(const std::string& text) { app_->footer("\n" + text); }

std::vector<OptionHelp> Options::declared() const {
  std::vector<OptionHelp> all;
  for (const Option::Row& row : rows_) all.push_back(row.help);
  return all;
}

Result<void> Options::finish() const {
  for (const Option::Row& row : rows_) {
    if (row.option->count() == 0) continue;
    const std::string name = row.option->get_name();
    TRY(const std::string text, typed(name, row.adds_up, row.option->results()));
    TRY(row.read(name, text));
  }
  for (const auto& check : checks_) TRY(check());
  return {};
}

namespace {

// A command with its options, none of them read yet.
struct Declared {
  explicit Declared(const Command& command)
      : app(std::string(command.help), fmt::format("hwprof {}", command.name)), options(app) {
    app.get_formatter()->column_width(kHelpColumn);
    app.set_help_flag();
    app.allow_extras();
    action = command.declare(options);
    options.group(kGeneral);
    auto shown =
        options.flag("-v,--verbose", verbose, "Log each step on standard error. Default: off.");
    options.flag("-q,--quiet", quiet, "Log errors only, show no progress. Default: off.")
        .excludes(shown);
    app.set_help_flag("-h,--help", kHelpOfHelp)->group(kGeneral);
  }

  [[nodiscard]] Verbosity verbosity() const {
    return verbose ? Verbosity::kVerbose : quiet ? Verbosity::kQuiet : Verbosity::kNormal;
  }

  CLI::App app;
  Options options;
  Action action;
  bool verbose = false, quiet = false;
};

constexpr std::string_view kExitCodes =
    "0 done, 1 a check says no (--require, doctor), 2 wrong usage or input, 3 could not be "
    "measured, 130 interrupted; run: that of the command.";

std::vector<Candidate> examples(std::span<const Command> commands) {
  return {{"hwprof --pin 0 --events flops,llc-miss", "the main job on CPU 0"},
          {"hwprof run -- python3 train.py", "which BLAS does any program use?"},
          {fmt::format("hwprof {} --help", commands.front().name), "its options"},
          {"hwprof --version", ""}};
}

std::string main_help(std::span<const Command> commands) {
  std::string text =
      "hwprof: counts what the hardware did in numeric code, and says whether the\n"
      "optimized BLAS did it and how far that is from the machine's peak.\n\n"
      "Usage: hwprof [COMMAND] [OPTIONS]\n\nCommands:\n";
  for (const Command& command : commands)
    text += fmt::format("  {:<10} {}\n", command.name, command.help);
  text += fmt::format("\nWithout COMMAND: {}.\n\n", commands.front().name);
  for (const Candidate& example : examples(commands)) {
    text += example.help.empty() ? fmt::format("  {}\n", example.text)
                                 : fmt::format("  {:<40} {}\n", example.text, example.help);
  }
  return text + "\n" + wrap(fmt::format("Exit codes: {}", kExitCodes), kHelpWidth - 2) + "\n";
}

const Command* find(std::span<const Command> commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [name](const Command& command) { return command.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

tl::unexpected<Error> unknown(std::string_view kind, std::string_view word,
                              const std::vector<std::string>& known, std::string_view help) {
  const std::string near = did_you_mean(nearest(word, std::span<const std::string>(known)));
  return usage_error(fmt::format("unknown {} '{}'", kind, word),
                     near.empty() ? fmt::format("see {}", help) : near);
}

// "--pin CPUS"; a flag's text is blank.
std::string usage_of(const std::string& name, const CLI::Option& option) {
  const std::string shown = option.get_option_text();
  return shown == " " ? name : name + " " + shown;
}

// Misspelt, or an option of other commands.
tl::unexpected<Error> unknown_option(const std::string& typed, const CLI::App& app,
                                     std::span<const Command> commands, const Command& command) {
  const std::string word = typed.starts_with("--") ? typed.substr(0, typed.find('=')) : typed;
  std::vector<std::string> owners;
  std::string usage;
  for (const Command& other : commands) {
    const Declared declared(other);
    const CLI::Option* option = declared.app.get_option_no_throw(word);
    if (option == nullptr || &other == &command) continue;
    owners.emplace_back(other.name);
    if (usage.empty()) usage = usage_of(word, *option);
  }
  if (!owners.empty()) {
    return usage_error(
        fmt::format("hwprof {} has no {}", command.name, word),
        fmt::format("{} {}: hwprof {} {}", fmt::join(owners, ", "),
                    owners.size() > 1 ? "have it" : "has it", owners.front(), usage));
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return unknown("option", word, names, fmt::format("hwprof {} --help", command.name));
}

// What CLI11 took for neither an option nor its value.
Result<void> check_no_extras(const CLI::App& app, std::span<const Command> commands,
                             const Command& command) {
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
            : fmt::format("see hwprof {} --help", command.name));
  }
  return unknown_option(*extra, app, commands, command);
}

// CLI11's exceptions end here; true where the help is asked for.
Result<bool> parse_words(CLI::App& app, std::vector<std::string> words) {
  // "--a requires --b" and "--a excludes --b" are all that these two say.
  const auto both = [](const CLI::ParseError& error) {
    const std::string what = error.what();
    return std::pair(what.substr(0, what.find(' ')), what.substr(what.rfind(' ') + 1));
  };
  std::reverse(words.begin(), words.end());  // CLI11 wants them so
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return true;
  } catch (const CLI::RequiresError& error) {
    const auto [given, missing] = both(error);
    return usage_error(fmt::format("{} needs {}", given, missing),
                       fmt::format("add {}", usage_of(missing, *app.get_option(missing))));
  } catch (const CLI::ExcludesError& error) {
    const auto [one, other] = both(error);
    return usage_error(fmt::format("{} and {} exclude each other", one, other), "leave one out");
  } catch (const CLI::ArgumentMismatch& mismatch) {
    // "--pin: 1 required FILE missing", or for a flag "quiet was given a disallowed ...".
    const std::string what = mismatch.what();
    const std::string name = what.substr(0, what.find_first_of(": "));
    return usage_error(name.front() == '-' ? fmt::format("{} needs a value", name)
                                           : fmt::format("--{} takes no value", name));
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  return false;
}

// Of the footer of a page: today, or what a build that must come out the same every time says
// (reproducible-builds.org/specs/source-date-epoch).
std::string page_date() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  const auto given = epoch == nullptr ? std::nullopt : parse_unsigned(epoch);
  const std::time_t now = given ? static_cast<std::time_t>(*given) : std::time(nullptr);
  std::tm day{};
  if (::gmtime_r(&now, &day) == nullptr) return "1970-01-01";
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

// `hwprof --man [COMMAND]`
Result<Invocation> manual_page(std::span<const Command> commands,
                               const std::vector<std::string>& words) {
  const ProgramHelp program = describe(commands);
  if (words.empty()) return Invocation{program_page(program, HWPROF_VERSION, page_date()), {}};
  std::vector<std::string> names;
  for (const CommandHelp& command : program.commands) {
    if (command.name == words.front() && words.size() == 1)
      return Invocation{command_page(program, command, HWPROF_VERSION, page_date()), {}};
    names.push_back(command.name);
  }
  if (words.size() > 1)
    return usage_error(fmt::format("unexpected argument '{}'", words[1]),
                       "one command at a time: hwprof --man run");
  return unknown("command", words.front(), names, "hwprof --help");
}

}  // namespace

ProgramHelp describe(std::span<const Command> commands) {
  ProgramHelp program{
      .name = "hwprof",
      .summary = "count what the hardware did in numeric code, and judge the BLAS under it",
      .exit_codes = std::string(kExitCodes),
      .examples = examples(commands),
      .options = {{{"-h", "--help"}, "", kHelpOfHelp, ""},
                  {{"--version"}, "", "Print the version and exit.", ""},
                  {{"--man"},
                   "[COMMAND]",
                   "Print this page, or that of a command, in roff for man -l -, and exit.",
                   ""},
                  {{"--complete"},
                   "WORD...",
                   "Print what a shell may offer for the last word, and exit: what the completions "
                   "for bash, zsh and fish call.",
                   ""}},
      .commands = {}};
  for (const Command& command : commands) {
    const Declared declared(command);
    CommandHelp& help = program.commands.emplace_back();
    help.name = command.name;
    help.help = command.help;
    help.words = declared.options.declared_words();
    help.options = declared.options.declared();
    help.options.push_back({{"-h", "--help"}, "", kHelpOfHelp, kGeneral});
    help.footer = trim(declared.app.get_footer());
    help.takes_command = command.takes_command;
  }
  return program;
}

Result<Invocation> parse(std::span<const Command> commands, const std::vector<std::string>& args) {
  const std::string first = args.empty() ? std::string() : args.front();
  if (first == "--help" || first == "-h") return Invocation{main_help(commands), {}};
  if (first == "--version") return Invocation{"hwprof " HWPROF_VERSION "\n", {}};
  if (first == "--man") return manual_page(commands, {args.begin() + 1, args.end()});
  if (first == "--complete")
    return Invocation{complete(describe(commands), {args.begin() + 1, args.end()}), {}};

  const bool named = !args.empty() && (first.empty() || first.front() != '-');
  const Command* command = named ? find(commands, first) : &commands.front();
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const Command& known : commands) names.emplace_back(known.name);
    return unknown("command", first, names, "hwprof --help");
  }

  const auto begin = args.begin() + (named ? 1 : 0);
  const auto dashes = command->takes_command ? std::find(begin, args.end(), "--") : args.end();
  const auto declared = std::make_shared<Declared>(*command);
  TRY(const bool help, parse_words(declared->app, {begin, dashes}));
  if (help) return Invocation{declared->app.help(), {}};
  TRY(check_no_extras(declared->app, commands, *command));
  TRY(declared->options.finish());

  CommandLine line{.words = {"hwprof"}, .verbosity = declared->verbosity()};
  line.words.insert(line.words.end(), args.begin(), args.end());
  if (dashes != args.end()) line.command.assign(dashes + 1, args.end());
  return Invocation{{}, [action = std::move(declared->action), line = std::move(line)] {
                      start_log(line.verbosity);
                      return action(line);
                    }};
}

}  // namespace hwprof::cli
