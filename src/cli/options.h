// From the words of the command line to what is to be done. The commands are a table; each declares
// its options, every one bound to the member that it fills, and help, suggestions and the default
// command follow. CLI11 stands behind it, in options.cpp alone, since its header takes 11 s to
// compile: it finds the words, keeps what needs or excludes what, and prints the help.
//
// cli: this table, values.h and groups.h (options that several commands share), and what is made of
// the table: manual pages and what shells offer. It knows no command.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/cli/command_help.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hwprof::cli {

// Of the log on standard error: errors only; warnings, too; each step.
enum class Verbosity { kQuiet, kNormal, kVerbose };

struct CommandLine {
  std::vector<std::string> words;         // as typed, "hwprof" first: for the report
  std::vector<std::string> command = {};  // what follows `--`, of a command that takes one
  Verbosity verbosity = Verbosity::kNormal;
};

// Runs a command whose options are read; the exit code.
using Action = std::function<Result<int>(const CommandLine&)>;

// What is typed for the option `name`, taken in.
using Read = std::function<Result<void>(const std::string& name, const std::string& text)>;

// An option that was declared.
class Option {
 public:
  // May be given several times: `--events a --events b` is `--events a,b`.
  Option adds_up();
  Option needs(const Option& other);
  Option excludes(const Option& other);
  // What shells offer for its value.
  Option completes(Candidates candidates);
  [[nodiscard]] bool given() const;
  [[nodiscard]] std::string name() const;  // the long one: "--output"

 private:
  friend class Options;
  struct Row {
    CLI::Option* option;
    Read read;
    OptionHelp help;
    bool adds_up = false;
  };
  explicit Option(Row& row) : row_(&row) {}
  Row* row_;
};

// To which a command adds its options. What they fill must outlive the parsing.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(&app) {}
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // Title in the help of what is declared next.
  void group(const char* title) { group_ = title; }

  // `names` as in "-o,--output"; `shown` stands for the value in the help, whose text is wrapped.
  Option value(const char* names, const char* shown, Read read, const std::string& help);

  // `reader`, one of values.h, makes what `to` gets: Result<Value>(name, text). What a reader knows
  // by name, shells offer.
  template <class To, class Reader>
  Option value(const char* names, const char* shown, To& to, Reader reader,
               const std::string& help) {
    const Option option = value(
        names, shown,
        [&to, reader](const std::string& name, const std::string& text) -> Result<void> {
          TRY(auto value, reader(name, text));
          assign(to, std::move(value));
          return {};
        },
        help);
    if constexpr (requires { reader.names(); }) {
      option.row_->help.candidates = [reader] {
        std::vector<Candidate> candidates;
        for (const std::string_view name : reader.names())
          candidates.push_back({std::string(name), ""});
        return candidates;
      };
    }
    return option;
  }

  // Sets `to` to `value` where it is given.
  Option flag(const char* names, bool& to, const std::string& help, bool value = true);

  // The words that belong to no option.
  void words(const char* name, const char* shown, std::vector<std::string>& to,
             const std::string& help, Candidates candidates = {});

  void footer(const std::string& text);

  // Called once all values are read, in the order of the calls: what they must be to each other.
  void check(std::function<Result<void>()> check) { checks_.push_back(std::move(check)); }

  // After the parsing: takes the values in, then checks.
  Result<void> finish() const;

  // All that was declared.
  [[nodiscard]] std::vector<OptionHelp> declared() const;
  [[nodiscard]] const std::vector<OptionHelp>& declared_words() const { return words_; }

 private:
  template <class To, class Value>
  static void assign(To& to, Value&& value) {
    to = static_cast<To>(std::forward<Value>(value));
  }
  template <class To, class Value>
  static void assign(std::optional<To>& to, Value&& value) {
    to.emplace(static_cast<To>(std::forward<Value>(value)));
  }

  CLI::App* app_;
  const char* group_ = "";
  std::deque<Option::Row> rows_;  // Option points into it
  std::vector<OptionHelp> words_;
  std::vector<std::function<Result<void>()>> checks_;
};

struct Command {
  std::string_view name;
  std::string_view help;                // one line
  Action (*declare)(Options& options);  // declares them; what to do once they are read
  bool takes_command = false;           // what follows `--` is a command of the user's, not parsed
};

// What the program and its commands say of themselves.
ProgramHelp describe(std::span<const Command> commands);

struct Invocation {
  std::string text;                  // help or version, to be printed where there is no `run`
  std::function<Result<int>()> run;  // exit code
};

// `args` without the program's name. The first command of the table is the default: no word of the
// user need name it. Only the options of the command that is named are built. Fault::kUsage for
// values and combinations that cannot be, and for an unknown command or option with the nearest
// names, or with the command that does have the option.
Result<Invocation> parse(std::span<const Command> commands, const std::vector<std::string>& args);

}  // namespace hwprof::cli
