#include "src/commands/compare/comparable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/text.h"
#include "src/commands/compare/report_file.h"

namespace hwprof {
namespace {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

constexpr std::string_view kProfile = "hwprof.profile/1", kRun = "hwprof.run/1",
                           kSweep = "hwprof.sweep/1";
constexpr std::string_view kKnown[] = {kProfile, kRun, kSweep};

// Where each schema has what ought to be the same in both files.
struct Condition {
  const char* name;
  const char* at;
};
constexpr Condition kConditions[] = {
    {"machine", "/machine/cpu"},
    {"kernel", "/machine/kernel"},
    {"hwprof", "/hwprof/version"},
    {"library", "/blas/path"},
    {"library-version", "/blas/version"},
    {"core-type", "/blas/core"},
    {"blas-threads", "/blas/threads"},
    {"environment", "/blas/environment"},
    {"environment", "/blas/evidence/declared/environment"},
    {"pin", "/pin/requested"},
    {"pin", "/pinned"},
    {"cpus", "/pin/actual"},
    {"threads", "/threads"},
    {"instruction-set", "/simd_target"},
    {"workload", "/workload/name"},
    {"documents", "/workload/documents"},
    {"padding", "/workload/padding"},
    {"partial", "/partial"},
};

// The value there, or null: reports of other versions may lack it.
const Json& at(const Json& json, const char* path) {
  static const Json absent;
  const Pointer pointer(path);
  return json.contains(pointer) ? json.at(pointer) : absent;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null() || (value.is_structured() && value.empty())) return "none";
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string string_at(const Json& json, const char* path) {
  const Json& value = at(json, path);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_time(const Json& value) { return value.is_number() && value.get<double>() > 0; }

std::vector<std::string> strings_at(const Json& json, const char* path) {
  std::vector<std::string> out;
  for (const Json& word : at(json, path))
    if (word.is_string()) out.push_back(word.get<std::string>());
  return out;
}

// "k=2 d_e=300"
std::string sizes_of(const Json& shape) {
  std::vector<std::string> sizes;
  if (!shape.is_object()) return "";
  for (const auto& [name, value] : shape.items())
    sizes.push_back(fmt::format("{}={}", name, text_of(value)));
  return fmt::format("{}", fmt::join(sizes, " "));
}

// Numbers in `unit_ns` nanoseconds each.
Result<std::vector<double>> read_times(const Json& values, double unit_ns,
                                       const std::string& place) {
  std::vector<double> times;
  const bool list = values.is_array() || values.is_null();
  for (const Json& value : values) {
    if (!list || !is_time(value)) {
      return usage_error(fmt::format("{} is no list of times above 0", place),
                         "the file was not written by hwprof, or changed since");
    }
    times.push_back(value.get<double>() * unit_ns);
  }
  return times;
}

// `time_ns` of a row; null where it was not measured.
Result<TimeSample> read_time(const Json& time, const std::string& place) {
  TimeSample sample;
  if (time.is_null()) return sample;
  const Json& middle = at(time, "/median");
  if (!is_time(middle)) {
    return usage_error(fmt::format("{} has no median above 0", place),
                       "the file was not written by hwprof, or changed since");
  }
  sample.median_ns = middle.get<double>();
  TRY(sample.ns, read_times(at(time, "/slices"), 1, place + ".slices"));
  for (const Json& gflops : at(time, "/slice_peak_gflops"))
    if (is_time(gflops)) sample.peak_gflops.push_back(gflops.get<double>());
  if (sample.peak_gflops.size() != sample.ns.size()) sample.peak_gflops.clear();
  return sample;
}

struct RowNames {
  std::string group, name, label;
};

// rows[] of a profile.
RowNames names_of_row(const Json& row, const Json&) {
  const std::string op = string_at(row, "/op"), variant = string_at(row, "/variant");
  if (op.empty() || variant.empty()) return {};
  const Json& threads = at(row, "/threads");
  return {fmt::format("{}  {}, {}", op, sizes_of(at(row, "/shape")),
                      threads == 1 ? "1 thread" : text_of(threads) + " threads"),
          variant, op + " " + variant};
}

// layers[] of a profile of layers.
RowNames names_of_layer(const Json& layer, const Json&) {
  const std::string name = string_at(layer, "/name");
  if (name.empty()) return {};
  const std::string numbered = fmt::format("{} {}", text_of(at(layer, "/index")), name);
  return {"layers", numbered, numbered};
}

// points[] of a sweep; the operation may be that of all points.
RowNames names_of_point(const Json& point, const Json& file) {
  const auto either = [&](const char* path) {
    const std::string own = string_at(point, path);
    return own.empty() ? string_at(file, path) : own;
  };
  const std::string op = either("/op"), variant = either("/variant");
  const std::string swept = sizes_of(at(point, "/at")), held = sizes_of(at(file, "/shape"));
  if (op.empty() || swept.empty()) return {};
  std::string group = variant.empty() ? op : op + " " + variant;
  if (!held.empty()) group += "  " + held;
  return {std::move(group), swept, op + " " + swept};
}

struct RowList {
  std::string_view schema;
  const char* at;
  RowNames (*names)(const Json& row, const Json& file);
};
constexpr RowList kRowLists[] = {{kProfile, "/rows", names_of_row},
                                 {kProfile, "/layers", names_of_layer},
                                 {kSweep, "/points", names_of_point}};

Result<void> read_rows(const ReportFile& file, const RowList& list, Comparable& to) {
  const Json& rows = at(file.json, list.at);
  if (!rows.is_array()) return {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string place = fmt::format("{}: {}[{}]", file.path, list.at + 1, i);
    const RowNames names = list.names(rows[i], file.json);
    if (names.name.empty()) {
      return usage_error(fmt::format("{} has no name", place),
                         "the file was not written by hwprof, or changed since");
    }
    TRY(TimeSample time, read_time(at(rows[i], "/time_ns"), place + ".time_ns"));
    to.rows.push_back({names.group, names.name, names.label, std::move(time)});
  }
  return {};
}

// The times of a command: raw where it was repeated, else the one that there is.
Result<void> read_run(const ReportFile& file, Comparable& to) {
  constexpr struct {
    const char *name, *once, *repeated;
  } kTimes[] = {{"wall time", "/wall_s", "/repeats/wall_s/samples"},
                {"user time", "/user_s", "/repeats/user_s/samples"}};
  for (const auto& kind : kTimes) {
    TimeSample time;
    const Json& samples = at(file.json, kind.repeated);
    const auto times =
        read_times(samples.empty() ? Json::array({at(file.json, kind.once)}) : samples, 1e9,
                   fmt::format("{}: {}", file.path, kind.repeated + 1));
    // A command may use too little CPU for its clock to see.
    if (times && !times->empty()) {
      time.ns = *times;
      time.median_ns = median(time.ns);
    } else if (kind.once == kTimes[0].once && !at(file.json, "/wall_s").is_null()) {
      return error_of(times);
    }
    to.rows.push_back({shell_command(to.file.command), kind.name, kind.name, time});
  }
  return {};
}

// Several rows of one name: the n-th is held against the n-th. A label that several rows share is
// told apart by their groups.
void tell_apart(std::vector<ComparableRow>& rows) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::map<std::string, int> labels;
  for (ComparableRow& row : rows) {
    const int before = seen[{row.group, row.name}]++;
    if (before > 0) row.name += fmt::format(" #{}", before + 1);
    ++labels[row.label];
  }
  for (ComparableRow& row : rows)
    if (labels[row.label] > 1) row.label = fmt::format("{} {}", row.group, row.name);
}

}  // namespace

Result<Comparable> read_comparable(const std::string& path) {
  TRY(const ReportFile file, read_report(path, kKnown));
  const Json& json = file.json;
  Comparable out;
  out.file = {path, file.schema, string_at(json, "/started_utc"), strings_at(json, "/command")};
  for (const RowList& list : kRowLists) {
    if (list.schema != file.schema) continue;
    TRY(read_rows(file, list, out));
  }
  if (file.schema == kRun) TRY(read_run(file, out));
  if (out.rows.empty()) {
    return usage_error(fmt::format("{} holds no rows: there is nothing to compare", path),
                       "the file was not written by hwprof, or changed since");
  }
  tell_apart(out.rows);
  for (const auto& [name, place] : kConditions) {
    if (json.contains(Pointer(place))) out.conditions.emplace_back(name, text_of(at(json, place)));
  }
  const Json& peak = at(json, "/peak/f32_gflops");
  if (is_time(peak)) {
    out.peak_gflops = peak.get<double>();
    out.peak_of = fmt::format("{}, {}, {}", string_at(json, "/machine/cpu"),
                              string_at(json, "/peak/isa"), text_of(at(json, "/peak/threads")));
  }
  return out;
}

}  // namespace hwprof
