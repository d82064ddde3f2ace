// A terminal page: lines that fit, tables that are split where they do not, colour only if asked.
// Everything that reaches the page passes through printable() here, so no writer can forget it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/report/documents/content.h"
#include "src/report/render/writers.h"

namespace hwprof::report {

enum class Tone { kPlain, kTitle, kGood, kBad, kFaint };

class Page {
 public:
  explicit Page(const TextStyle& style) : style_(style) {}

  void blank() { out_ += '\n'; }
  // Wrapped at blanks; the first line starts `indent` columns in, the others `hang`. A word that is
  // longer than the line is never broken: paths must stay whole to be copied.
  void paragraph(std::string_view text, int indent = 0, int hang = 0, Tone tone = Tone::kPlain);
  // "Label      text", wrapped below the text.
  void fields(const std::vector<Field>& fields);
  // Title, then as many columns as fit, then the rest in further blocks, then the notes. Nothing
  // where there is nothing to say.
  void table(const Table& table);

  std::string take() { return std::move(out_); }

 private:
  void line(std::string_view text, Tone tone);
  void block(const Table& table, const std::vector<std::size_t>& columns,
             const std::vector<int>& widths);

  TextStyle style_;
  std::string out_;
};

}  // namespace hwprof::report
