// Where and how a command's result is written: what --format, -o and --full say, for every command
// alike. src/report/render/write_report.h does it.
#pragma once

#include <string>

namespace hwprof {

enum class Format { kText, kJson, kCsv, kMarkdown };

struct Output {
  Format format = Format::kText;
  std::string file;   // empty: standard output, or standard error where that is the program's
  bool full = false;  // of kText: all there is, not only what matters most; the others have all
};

}  // namespace hwprof
