// What a command says of itself, for those who print it: --help by CLI11, manual pages
// (man_page.h) and shells (completion.h). All of it is what the command declared (options.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof::cli {

// A value that an option takes; `help` may be empty.
struct Candidate {
  std::string text, help;
};
using Candidates = std::function<std::vector<Candidate>()>;

struct OptionHelp {
  std::vector<std::string> names;  // "-o", "--output"; of words empty
  std::string shown;               // "FILE" stands for the value; empty: a flag
  std::string help;                // one paragraph
  std::string group;               // title above it
  bool adds_up = false;            // takes a list, and may be given several times
  Candidates candidates = {};      // none known: empty
};

struct CommandHelp {
  std::string name, help;
  std::vector<OptionHelp> words;  // that belong to no option: none or one
  std::vector<OptionHelp> options;
  std::string footer;          // lines as they are to be printed; empty: none
  bool takes_command = false;  // what follows `--` is a command of the user's
};

struct ProgramHelp {
  std::string_view name, summary;  // one sentence
  std::string exit_codes;
  std::vector<Candidate> examples;    // what to type, and what it does
  std::vector<OptionHelp> options;    // that stand alone: --help, --version
  std::vector<CommandHelp> commands;  // the first is the default
};

}  // namespace hwprof::cli
