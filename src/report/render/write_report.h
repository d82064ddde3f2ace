// Where and how a command's result is written (what --format, -o and --full say, for every command
// alike), and its way there: the only place that knows all formats.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/files.h"
#include "src/base/result.h"
#include "src/report/document.h"
#include "src/report/render/render.h"

namespace hwprof {

enum class Format { kText, kJson, kCsv, kMarkdown, kHtml };

struct Output {
  Format format = Format::kText;
  std::string file;       // empty: standard output, or standard error where that is the program's
  std::string page = {};  // an HTML page besides the report; empty: none
  bool full = false;      // of kText: all there is, not only what matters most; the others have all
};

// Whether a page is made, which can show what no other format does.
inline bool makes_page(const Output& output) {
  return output.format == Format::kHtml || !output.page.empty();
}

}  // namespace hwprof

namespace hwprof::report {

// check_writable() and write_file() (files.h); as root by a process of its own: a folder that
// others may read is one that they may hold.
Result<void> check_output(const std::string& file);
Result<void> write_output(const std::string& file, const std::string& bytes);

// Refuses early two files of one name (Fault::kUsage), and one that cannot be written: those of
// `output`, and `more`. An empty name is none. `check`: of one that is.
Result<void> check_outputs(
    const Output& output, std::initializer_list<std::string_view> more = {},
    const std::function<Result<void>(const std::string&)>& check = check_output);

// How a record is said in each format; no CSV where that has no rows.
template <class Record>
struct Writers {
  Document (*document)(const Record&);
  std::string (*json)(const Record&);
  std::string (*csv)(const Record&) = nullptr;
};

// Where it goes without a file: standard error where standard output is the observed program's.
enum class Stream { kStdout, kStderr };

// Text as wide as COLUMNS says, else as the terminal is, else 100 columns; colour on a terminal.
std::string rendered(const Document& document, const Output& output,
                     Stream stream = Stream::kStdout);

// Fault::kEnvironment where not every byte arrived.
Result<void> write_bytes(const std::string& bytes, const Output& output,
                         Stream stream = Stream::kStdout);

// Of a file that could not be written: what was measured is not lost, `bytes` go to the stream.
// `failed`, which says so.
tl::unexpected<Error> print_instead(Error failed, const std::string& bytes, Stream stream);

template <class Record>
std::string page_bytes(const Record& record, const Writers<std::type_identity_t<Record>>& writers) {
  const PageReport report{writers.document(record), writers.json(record)};
  return as_html({&report, 1});
}

template <class Record>
std::string report_bytes(const Record& record, const Writers<std::type_identity_t<Record>>& writers,
                         const Output& output, Stream stream = Stream::kStdout) {
  if (output.format == Format::kCsv && writers.csv != nullptr) return writers.csv(record);
  if (output.format == Format::kJson) return writers.json(record);
  if (output.format == Format::kHtml) return page_bytes(record, writers);
  return rendered(writers.document(record), output, stream);
}

template <class Record>
Result<void> write_report(const Record& record,
                          const Writers<std::type_identity_t<Record>>& writers,
                          const Output& output, Stream stream = Stream::kStdout) {
  const std::string bytes = report_bytes(record, writers, output, stream);
  if (const auto written = write_bytes(bytes, output, stream); !written) {
    if (output.file.empty()) return written;
    const bool is_page = output.format == Format::kHtml;
    return print_instead(written.error(), is_page ? writers.json(record) : bytes, stream);
  }
  return output.page.empty() ? Result<void>()
                             : write_output(output.page, page_bytes(record, writers));
}

// Writes `bytes` to standard output; Fault::kEnvironment when they did not all arrive (full disk,
// closed pipe).
Result<void> write_stdout(const std::string& bytes);

// The same to standard error, where the report on a program goes whose standard output it is not.
Result<void> write_stderr(const std::string& bytes);

using hwprof::write_file;

}  // namespace hwprof::report
