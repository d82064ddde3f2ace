// What the report says, before it gets a form: sentences and tables made of a record. The text and
// the markdown writer only differ in how they set them, so that they cannot contradict each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/model/record.h"

namespace hwprof::report {

struct Field {
  std::string label, text;
};

struct Headline {
  std::string text;
  bool good = false;
};

struct Column {
  std::string title;  // '\n' where a terminal may break it
  bool left = false;  // words; numbers stand right
};

struct TableRow {
  std::string group;  // rows of one operation stand together below it; may be empty
  std::vector<std::string> cells;
};

struct Table {
  std::string title;
  std::vector<Column> columns;     // the first one names the row; most important first
  std::vector<TableRow> rows;      // none: there is only `notes` to say
  std::vector<std::string> notes;  // legend, and the reason of each absent number, said once
};

// The most important truth: what is wrong with the BLAS, else how fast the forward pass is.
Headline headline(const Profile& profile);
std::string run_line(const Profile& profile);      // version, start, duration
std::string command_line(const Profile& profile);  // as a shell would take it

std::string shell_command(const std::vector<std::string>& words);
std::string machine_text(const Machine& machine);
std::string pmu_text(const Machine& machine);
std::string cpus_in_words(const CpuList& cpus);  // "CPUs 0,2-3"
// "BLAS SUBOPTIMAL": a verdict at the head of a report.
std::string upper(std::string text);
std::string sentence(std::string text);  // with its full stop

std::vector<Field> machine_fields(const Profile& profile);
std::vector<Field> workload_fields(const Profile& profile);
std::vector<Field> blas_fields(const Blas& blas);

Table operations_table(const Profile& profile);
Table counters_table(const Profile& profile);
Table repeats_table(const Profile& profile);
Table scaling_table(const Scaling& scaling);
// The same for other rows: `head` gives the group of a row and its first cell.
Table counters_table(const std::string& title, const std::vector<const Row*>& rows,
                     const std::function<TableRow(const Row&)>& head);
Table passes_table(const Profile& profile);
Table epochs_table(const Training& training);
Table phases_table(const Training& training);
Table complexity_table(const Complexity& complexity);
Table ladder_table(const std::vector<LadderRung>& ladder, const std::string& note);
inline Table ladder_table(const Blas& blas) { return ladder_table(blas.ladder, blas.ladder_note); }

// A network of layers: its forms, the layers of the first, their counters and types, and another
// table's times beside ours. None for another workload.
std::vector<Table> layers_tables(const Profile& profile);
std::string layers_headline(const Profile& profile);  // how fast an inference is
// What training came to, for the headline; what is trained on what.
std::string training_headline(const Training& training);
std::vector<Field> training_fields(const Training& training);

std::string shape_of(const Row& row);  // "k=2 d_e=300"
std::string group_of(const Row& row);  // operation, shape and threads: what variants share

// Every event of any row, in the order of first use; the count of one of them, or nullptr.
std::vector<std::string> event_names(const std::vector<Row>& rows);
const EventCount* find_count(const Row& row, const std::string& event);

// Why `row` has no such number; empty where it has one.
std::string gflops_reason(const Row& row);
std::string peak_fraction_reason(const Profile& profile, const Row& row);
std::string error_reason(const Row& row);
std::string counted_flops_reason(const Row& row);

}  // namespace hwprof::report
