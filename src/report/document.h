// What a command has to say, as a value without a format: blocks of words, numbers and tables. A
// builder (documents/) makes it of a record, a renderer (render/) makes bytes of it, so that no two
// formats can say different things.
//
// report: turns records into bytes. It measures, observes and judges nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hwprof::report {

// The text report is brief unless --full was given; every other format has what is full. kPage: the
// HTML page alone, where the others say it in other words.
enum class Detail { kBoth, kBrief, kFull, kPage };

// Of the HTML page, which has them in this order; the other formats keep the order of the blocks.
enum class Section {
  kVerdict,
  kChecks,
  kComparison,
  kRoofline,
  kLayers,
  kComplexity,
  kHotspots,
  kRegions,
  kLadder,
  kCounters,
  kNoise,
  kMachine,
};

// The most important truth, in a sentence or two.
struct Headline {
  std::string text;
  bool good = false;
  std::string fix = {};  // what to do about it: a command, as a rule
  bool judged = true;    // false: whether it is good is not known
};

struct Paragraph {
  enum class Kind {
    kPlain,
    kRemark,   // on the headline above it
    kAlert,    // the same, and wrong
    kCommand,  // of a shell
    kFix,      // the same, which fixes what the headline says
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
  std::string of = {};  // JSON pointer to what it is about in the record's JSON; may be empty
};

// Nothing where it has neither rows nor notes.
struct Table {
  std::string title = {};            // may be empty
  std::vector<Column> columns = {};  // the first one names the row; most important first
  std::vector<TableRow> rows = {};
  std::vector<std::string> notes = {};    // legend, and the reason of each absent number, said once
  std::vector<std::string> brief = {};    // instead of the notes in the brief form
  std::size_t most_rows = 0;              // in text and markdown; 0: all
  std::string_view groups = "operation";  // what a group is, for a page that sorts its rows
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

// What the page's script draws out of the record's JSON, under the name that it has there
// (src/report/html/main.js). The numbers stand in tables, too.
struct Chart {
  std::string name;
  std::string text;  // what is drawn, in words
};

struct Block {
  std::variant<Headline, Paragraph, Fields, Table, Plot, Chart> content;
  Detail detail = Detail::kBoth;
  Section section = Section::kVerdict;
};

struct Document {
  std::string title = {};  // "hwprof profile: textcnn"
  std::vector<Block> blocks = {};
  Section section = Section::kVerdict;  // of what is added next

  template <class Content>
  Document& add(Content content, Detail detail = Detail::kBoth) {
    constexpr bool kIsChart = std::is_same_v<Content, Chart>;
    blocks.push_back({std::move(content), kIsChart ? Detail::kPage : detail, section});
    return *this;
  }
  Document& in(Section next) {
    section = next;
    return *this;
  }
};

}  // namespace hwprof::report
