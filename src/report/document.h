// What a command has to say, as a value without a format: blocks of words, numbers and tables. A
// builder (documents/) makes it of a record, a renderer (render/) makes bytes of it, so that no two
// formats can say different things.
//
// report: turns records into bytes. It measures, observes and judges nothing.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hwprof::report {

// The text report is brief unless --full was given; every other format has what is full.
enum class Detail { kBoth, kBrief, kFull };

// The most important truth, in a sentence or two.
struct Headline {
  std::string text;
  bool good = false;
};

struct Paragraph {
  enum class Kind {
    kPlain,
    kRemark,   // on the headline above it
    kAlert,    // the same, and wrong
    kCommand,  // of a shell
    kLine,     // for other programs: never wrapped
  };
  std::string text;
  Kind kind = Kind::kPlain;
};

struct Field {
  std::string label, text;
  std::vector<std::string> more = {};  // further lines below the text
};

struct Fields {
  std::string title;  // may be empty
  std::vector<Field> rows = {};
  bool good = true;  // false: warnings
};

struct Column {
  std::string title;  // '\n' where a terminal may break it
  bool left = false;  // words; numbers stand right
  bool full = false;  // not in the brief form
};

struct TableRow {
  std::string group;  // rows of one operation stand together below it; may be empty
  std::vector<std::string> cells;
};

// Nothing where it has neither rows nor notes.
struct Table {
  std::string title = {};            // may be empty
  std::vector<Column> columns = {};  // the first one names the row; most important first
  std::vector<TableRow> rows = {};
  std::vector<std::string> notes = {};  // legend, and the reason of each absent number, said once
  std::vector<std::string> brief = {};  // instead of the notes in the brief form
};

struct Series {
  char mark;
  std::string name;
  std::vector<std::pair<double, double>> points = {};  // size, time in ns
};

// Both axes are logarithmic: a power of the size is a straight line.
struct Plot {
  std::string text;                 // what is drawn
  std::vector<Series> series = {};  // a later one covers an earlier one
};

struct Block {
  std::variant<Headline, Paragraph, Fields, Table, Plot> content;
  Detail detail = Detail::kBoth;
};

struct Document {
  std::vector<Block> blocks = {};

  template <class Content>
  Document& add(Content content, Detail detail = Detail::kBoth) {
    blocks.push_back({std::move(content), detail});
    return *this;
  }
};

}  // namespace hwprof::report
