#include "src/cli/groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/events/event_table.h"
#include "counters/events/pfm.h"
#include "src/base/text.h"
#include "src/cli/values.h"
#include "src/measure/regions_view.h"

namespace hwprof::cli {
namespace {

constexpr std::uint64_t kMaxRegionRows = 1'000'000;

constexpr Choice<report::GroupBy> kGroupings[] = {{"path", report::GroupBy::kPath},
                                                  {"name", report::GroupBy::kName},
                                                  {"shape", report::GroupBy::kShape},
                                                  {"type", report::GroupBy::kType}};
constexpr Choice<Format> kFormats[] = {{"text", Format::kText},
                                       {"json", Format::kJson},
                                       {"csv", Format::kCsv},
                                       {"markdown", Format::kMarkdown},
                                       {"html", Format::kHtml}};

}  // namespace

Option pin(Options& options, CpuList& to, const std::string& help) {
  options.group(kMachine);
  return options.value("--pin", "CPUS", to, cpu_list, help);
}

Option events(Options& options, std::vector<std::string>& to,
              std::span<const std::string_view> defaults) {
  options.group(kMachine);
  return options
      .value("--events", "LIST", to, parse_events,
             fmt::format("Count these events, separated by commas: names, r01c2, or "
                         "cpu/event=0xc2,umask=0x1/. Default: {}.",
                         join(defaults)))
      .adds_up()
      .completes(event_candidates);
}

std::vector<Candidate> event_candidates() {
  std::vector<Candidate> all;
  for (const PortableEvent& event : portable_events())
    all.push_back({std::string(event.name), std::string(event.meaning)});
  for (const std::string& name : pfm::event_names()) all.push_back({name, ""});
  return all;
}

Option no_ladder(Options& options, bool& ladder) {
  options.group(kBudget);
  return options.flag("--no-ladder", ladder,
                      "Skip comparing the BLAS with its other core types, which takes up to 2 s. "
                      "Default: compare.",
                      false);
}

void region_view(Options& options, report::RegionView& to) {
  options.group(kRegions);
  options.value("--group-by", "path|name|shape|type", to.group_by, choice(kGroupings),
                "Add up regions of the same call path, name, name and shape, or type. Default: "
                "path.");
  options
      .value("--sort", "COLUMN", to.sort, any_text,
             "Put the largest first: self, total, mean, calls, threads, flops, gflops, "
             "memory-self, memory, memory-peak, an event; or name. Default: paths as a tree, "
             "groups by self.")
      .completes(offer(region_columns()));
  options.value("--top", "N", to.top, whole(1, kMaxRegionRows),
                "Show at most N rows. Default: all.");
  options.value("--depth", "N", to.depth, whole(1, kMaxRegionRows),
                "Show paths of at most N regions. Default: all.");
}

Option trace(Options& options, std::string& to) {
  options.group(kRegions);
  return options.value("--trace", "FILE", to, file_in(".json"),
                       "Write each call of a region (of run, and the longest of a BLAS) to "
                       "FILE.json, as ui.perfetto.dev and chrome://tracing open it. Default: do "
                       "not.");
}

Option flame(Options& options, std::string& to) {
  options.group(kReport);
  return options.value("--flame", "FILE", to, file_in(".svg", ".html"),
                       "Draw a flame graph of the sampled CPU time: FILE.svg, or FILE.html to look "
                       "at. Default: none.");
}

Option require(Options& options, std::vector<Requirement> checks, const std::string& help) {
  options.group(kReport);
  std::vector<std::string_view> names;
  for (const Requirement& check : checks) names.push_back(check.name);
  const auto read = [checks = std::move(checks)](const std::string& name,
                                                 const std::string& text) -> Result<void> {
    TRY(const auto wanted, parse_list(name, text));
    std::vector<Choice<bool*>> choices;
    for (const Requirement& check : checks) choices.push_back({check.name, check.wanted});
    for (const std::string& check : wanted) {
      TRY(bool* const member, parse_choice(name, check, std::span<const Choice<bool*>>(choices)));
      *member = true;
    }
    return {};
  };
  return options.value("--require", "CHECK", read, help).adds_up().completes(offer(names));
}

void output(Options& options, Output& to, std::vector<Format> formats, std::string_view nowhere) {
  options.group(kReport);
  std::vector<Choice<Format>> choices;
  std::vector<std::string_view> names;
  for (const Choice<Format>& known : kFormats) {
    if (std::find(formats.begin(), formats.end(), known.value) == formats.end()) continue;
    choices.push_back(known);
    names.push_back(known.name);
  }
  const auto read = [&to, choices](const std::string& name,
                                   const std::string& text) -> Result<void> {
    TRY(to.format, parse_choice(name, text, std::span<const Choice<Format>>(choices)));
    return {};
  };
  const bool has_page = std::find(formats.begin(), formats.end(), Format::kHtml) != formats.end();
  const Candidates all_formats = offer(names);
  const std::string last(names.back());
  names.pop_back();
  const Option format =
      options
          .value("--format", "FORMAT", read,
                 fmt::format("Print {} or {}. Default: text.", fmt::join(names, ", "), last))
          .completes(all_formats);
  const auto json = std::make_shared<bool>(false);
  options.flag("--json", *json, "The same as --format json. Default: text.");
  options.value(
      "-o,--output", "FILE",
      [&to](const std::string&, const std::string& text) -> Result<void> {
        to.file = text == "-" ? "" : text;
        return {};
      },
      fmt::format("Write the report to FILE, whole or not at all{}. Default: \"-\", {}.",
                  has_page ? "; as HTML where that is FILE.html" : "", nowhere));
  if (has_page) {
    options.value("--report", "FILE", to.page, file_in(".html"),
                  "Write an HTML page to FILE.html besides, with charts of all there is, for a "
                  "browser, a mail or a printer. Default: none.");
  }
  options.flag("--full", to.full, "Print all of the text report. Default: what matters most.");
  options.check([&to, json, format, has_page]() -> Result<void> {
    if (has_page && !*json && !format.given() && to.file.ends_with(".html"))
      to.format = Format::kHtml;
    if (!*json) return {};
    if (format.given() && to.format != Format::kJson)
      return usage_error("--json and another --format exclude each other", "leave one out");
    to.format = Format::kJson;
    return {};
  });
}

}  // namespace hwprof::cli
