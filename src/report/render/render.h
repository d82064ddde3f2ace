// The formats of a Document. Each renderer is written once and works for every command; an HTML one
// would stand beside these two.
#pragma once

#include <string>

#include "src/report/document.h"

namespace hwprof::report {

struct TextStyle {
  bool colour = false;
  int columns = 100;  // lines never exceed it, except for unbreakable paths
  bool full = false;
};

// A terminal page: lines that fit, tables that are split where they do not, colour only if asked.
// The brief form ends in a line on what --full adds.
std::string as_text(const Document& document, const TextStyle& style);

// For an issue or a pull request on GitHub.
std::string as_markdown(const Document& document);

// The lines of a plot, none wider than `columns`.
std::vector<std::string> plot_lines(const Plot& plot, int columns);

}  // namespace hwprof::report
