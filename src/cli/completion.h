// What a shell offers for the word that is being typed. The scripts for bash, zsh and fish
// (packaging/completions) know nothing of hwprof: they ask `hwprof --complete`, so that whatever a
// command declares is completed from then on, and events are those of this machine.
#pragma once

#include <string>
#include <vector>

#include "src/cli/command_help.h"

namespace hwprof::cli {

// `words`: what stands behind the program's name, the last one being typed, and maybe empty. One
// candidate a line, whole words that begin as the last one does: "text<TAB>help". Lines that begin
// with ":" ask for something of the shell:
//   :file       names of files, too
//   :command N  what it offers for the command that begins at word N (0: the first of `words`)
//   :nospace    no blank behind a candidate: a list may go on
std::string complete(const ProgramHelp& program, const std::vector<std::string>& words);

}  // namespace hwprof::cli
