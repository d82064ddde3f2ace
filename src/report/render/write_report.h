// A command's result on its way to where Output says, in the format that Output says: the only
// place that knows all formats.
#pragma once

#include <string>
#include <type_traits>

#include "src/base/result.h"
#include "src/model/output.h"
#include "src/report/document.h"

namespace hwprof::report {

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

template <class Record>
Result<void> write_report(const Record& record,
                          const Writers<std::type_identity_t<Record>>& writers,
                          const Output& output, Stream stream = Stream::kStdout) {
  const bool csv = output.format == Format::kCsv && writers.csv != nullptr;
  return write_bytes(csv ? writers.csv(record)
                     : output.format == Format::kJson
                         ? writers.json(record)
                         : rendered(writers.document(record), output, stream),
                     output, stream);
}

}  // namespace hwprof::report
