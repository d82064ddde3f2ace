#include "src/cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"

namespace hwprof::cli {
namespace {

// As it stands: roff takes backslashes everywhere, and dots and quotes at the start of a line, for
// its own; "-" would become a hyphen, which nobody finds or can paste.
std::string escaped(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    at_start = c == '\n';
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '"':
        out += "\\(dq";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string section(std::string_view title) { return fmt::format(".SH {}\n", upper(title)); }

std::string header(const std::string& page, std::string_view version, std::string_view date) {
  return fmt::format(".TH {} 1 {} \"hwprof {}\" \"User Commands\"\n", upper(escaped(page)), date,
                     version);
}

// Of `.SH NAME`, which whatis(1) reads: no sentence, so no full stop.
std::string name_section(const std::string& page, std::string_view help) {
  while (help.ends_with('.')) help.remove_suffix(1);
  return section("NAME") + fmt::format("{} \\- {}\n", escaped(page), escaped(help));
}

std::string tagged(const std::string& tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, escaped(text));
}

std::string option_entry(const OptionHelp& option) {
  std::string tag;
  for (const std::string& name : option.names)
    tag += fmt::format("{}\\fB{}\\fR", tag.empty() ? "" : ", ", escaped(name));
  if (!option.shown.empty())
    tag += fmt::format("{}\\fI{}\\fR", tag.empty() ? "" : " ", escaped(option.shown));
  return tagged(tag, option.help);
}

// Under its titles, in the order in which they first come.
std::string options_section(const std::vector<OptionHelp>& options) {
  std::string out = section("OPTIONS");
  std::vector<std::string> groups;
  for (const OptionHelp& option : options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  for (const std::string& group : groups) {
    if (!group.empty()) out += fmt::format(".SS {}\n", escaped(group));
    for (const OptionHelp& option : options)
      if (option.group == group) out += option_entry(option);
  }
  return out;
}

// Line by line: it may hold columns.
std::string as_it_is(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string out = ".nf\n";
  bool blank = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) {
      blank = true;  // an empty line is `.sp`, of which roff wants one
      continue;
    }
    if (blank) out += ".sp\n";
    blank = false;
    out += escaped(line) + "\n";
  }
  return out + ".fi\n";
}

std::string page_of(const ProgramHelp& program, const CommandHelp& command) {
  return fmt::format("{}-{}", program.name, command.name);
}

std::string see_also(const ProgramHelp& program, const std::string& self) {
  std::vector<std::string> pages;
  if (program.name != self) pages.emplace_back(program.name);
  for (const CommandHelp& command : program.commands)
    if (page_of(program, command) != self) pages.push_back(page_of(program, command));
  std::sort(pages.begin(), pages.end());
  std::string out = section("SEE ALSO");
  for (std::size_t i = 0; i < pages.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", escaped(pages[i]), i + 1 < pages.size() ? "," : "");
  return out;
}

}  // namespace

std::string program_page(const ProgramHelp& program, std::string_view version,
                         std::string_view date) {
  const std::string page(program.name);
  std::string out = header(page, version, date) + name_section(page, program.summary);
  out += section("SYNOPSIS") +
         fmt::format(".B {}\n[\\fICOMMAND\\fR] [\\fIOPTION\\fR...]\n", escaped(page));
  out += section("COMMANDS");
  for (const CommandHelp& command : program.commands)
    out += tagged(fmt::format("\\fB{}\\fR", escaped(command.name)), command.help);
  out += fmt::format(
      ".PP\nWithout a command: {}. Each has a page of its own, as\n.BR {} (1),\nand prints its "
      "options with\n.BR \\-\\-help .\n",
      program.commands.front().name, escaped(page_of(program, program.commands.front())));
  out += options_section(program.options);
  out += section("EXIT STATUS") + escaped(program.exit_codes) + "\n";
  out += section("EXAMPLES");
  for (const Candidate& example : program.examples)
    out += tagged(fmt::format("\\fB{}\\fR", escaped(example.text)), example.help);
  return out + see_also(program, page);
}

std::string command_page(const ProgramHelp& program, const CommandHelp& command,
                         std::string_view version, std::string_view date) {
  const std::string page = page_of(program, command);
  std::string out = header(page, version, date) + name_section(page, command.help);
  out += section("SYNOPSIS") +
         fmt::format(".B {} {}\n[\\fIOPTION\\fR...]\n", program.name, escaped(command.name));
  for (const OptionHelp& word : command.words)
    out += fmt::format("\\fI{}\\fR\n", escaped(word.shown));
  if (command.takes_command && command.words.empty())
    out += "\\-\\- \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n";
  out += section("DESCRIPTION") + escaped(command.help) + "\n";
  for (const OptionHelp& word : command.words) out += option_entry(word);
  out += options_section(command.options);
  if (!command.footer.empty()) out += section("NOTES") + as_it_is(command.footer);
  return out + see_also(program, page);
}

}  // namespace hwprof::cli
