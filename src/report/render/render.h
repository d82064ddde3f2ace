// The formats of a Document. Each renderer is written once and works for every command.
#pragma once

#include <span>
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

// One report of a page: what is said, and the record that it is said of, whose charts are drawn
// from `json`.
struct PageReport {
  Document document;
  std::string json;
};

// A page of one or several reports: one file that needs no other, whose text and tables are there
// without JavaScript (src/report/html has the script).
std::string as_html(std::span<const PageReport> reports);

// As formats of lines of text have it: without what only the page has, and of long tables the first
// rows.
Document for_lines(const Document& document);

// With its fix: "BLAS missing: ... Fix: sudo apt install ...".
std::string words_of(const Headline& head);

// A title that a terminal may break, in one line: "FLOP/\nbyte" has no blank there.
std::string one_line(std::string title);

// The lines of a plot, none wider than `columns`.
std::vector<std::string> plot_lines(const Plot& plot, int columns);

}  // namespace hwprof::report
