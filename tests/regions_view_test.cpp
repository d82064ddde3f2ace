// Views of a table of regions, and that all writers say the same of one record.
#include "src/measure/regions_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "src/base/format.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/render/render.h"

namespace hwprof {
namespace {

using report::GroupBy;
using report::Region;
using report::Regions;
using testing::ElementsAre;
using testing::HasSubstr;

Region row(std::vector<std::string> path, double total_ns, double self_ns, std::string shape = "") {
  Region region;
  region.name = path.back();
  region.type = "Type of " + region.name;
  region.shape = std::move(shape);
  region.depth = path.size() - 1;
  region.path = std::move(path);
  region.threads = 1;
  region.calls = 4;
  region.total_ns = total_ns;
  region.self_ns = self_ns;
  region.flops = 3 * total_ns;
  region.gflops = 3;
  region.memory = {.self_bytes = static_cast<std::uint64_t>(self_ns) * 1024,
                   .total_bytes = static_cast<std::uint64_t>(total_ns) * 1024,
                   .peak_bytes = static_cast<std::uint64_t>(self_ns) * 2048};
  region.counts = {{"page-faults", "1", total_ns / 10, self_ns / 10, CountStatus::kOk, ""},
                   {"cycles", "1", {}, {}, CountStatus::kUnsupported, "there is no PMU"}};
  return region;
}

Regions sample() {
  Regions regions;
  regions.work = "3 passes";
  regions.rows = {row({"step"}, 1000, 100),
                  row({"step", "conv"}, 500, 300, "3x3"),
                  row({"step", "conv", "gemm"}, 200, 200),
                  row({"step", "conv"}, 300, 300, "5x5"),
                  row({"step", "gemm"}, 100, 60),
                  row({"step", "gemm", "gemm"}, 40, 40)};
  return regions;
}

std::vector<std::string> names(const Regions& regions) {
  std::vector<std::string> names;
  for (const Region& row : regions.rows) names.push_back(row.name);
  return names;
}

TEST(RegionsView, PathsWithoutASortStayATree) {
  const Regions seen = view_regions(sample(), {});
  EXPECT_THAT(names(seen), ElementsAre("step", "conv", "gemm", "conv", "gemm", "gemm"));
  EXPECT_DOUBLE_EQ(*seen.rows[0].total_share, 1);
  EXPECT_DOUBLE_EQ(*seen.rows[1].self_share, 0.3);
  EXPECT_EQ(seen.hidden, 0u);
}

TEST(RegionsView, AGroupAddsSelfButNoTotalTwice) {
  const Regions seen = view_regions(sample(), {.group_by = GroupBy::kName, .sort = ""});
  ASSERT_THAT(names(seen), ElementsAre("conv", "gemm", "step"));
  EXPECT_EQ(*seen.rows[1].self_ns, 300);
  EXPECT_EQ(*seen.rows[1].total_ns, 300) << "200 + 100; the 40 are inside of the 100";
  EXPECT_EQ(seen.rows[1].calls, 12u);
  EXPECT_EQ(seen.rows[1].memory->peak_bytes, 200u * 2048);
  EXPECT_EQ(seen.rows[1].memory->total_bytes, 300u * 1024);
  EXPECT_EQ(*seen.rows[1].counts[0].self, 30);
  EXPECT_FALSE(seen.rows[1].counts[1].self) << "absent, never 0";
  EXPECT_DOUBLE_EQ(*seen.rows[1].gflops, 3);
}

TEST(RegionsView, ShapesAreApartUnlessGroupedByName) {
  const auto rows = [](GroupBy by) {
    return view_regions(sample(), {.group_by = by, .sort = "total"}).rows.size();
  };
  EXPECT_EQ(rows(GroupBy::kShape), 4u);
  EXPECT_EQ(rows(GroupBy::kName), 3u);
  EXPECT_EQ(rows(GroupBy::kType), 3u);
  EXPECT_EQ(rows(GroupBy::kPath), 6u);
}

TEST(RegionsView, SortsCutsAndSaysHowManyRowsAreHidden) {
  const Regions seen = view_regions(sample(), {.sort = "page-faults", .top = 2});
  EXPECT_THAT(names(seen), ElementsAre("conv", "conv"));
  EXPECT_EQ(seen.hidden, 4u);
  const Regions flat = view_regions(sample(), {.sort = "", .depth = 1});
  EXPECT_THAT(names(flat), ElementsAre("step"));
  EXPECT_DOUBLE_EQ(*flat.rows[0].self_share, 0.1) << "of all regions, shown or not";
  EXPECT_EQ(flat.hidden, 5u);
  EXPECT_THAT(view_regions(sample(), {.sort = "cycles"}).notes, ElementsAre(HasSubstr("cycles")));
}

TEST(RegionsView, AColumnThatThereIsNotIsRefusedWithTheNearest) {
  const std::vector<std::string> events = {"page-faults"};
  EXPECT_TRUE(check_region_view({.sort = "page-faults"}, events));
  EXPECT_TRUE(check_region_view({}, events));
  const auto wrong = check_region_view({.sort = "slef"}, events);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().fault, Fault::kUsage);
  EXPECT_THAT(wrong.error().what, HasSubstr("slef"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("self"));
}

TEST(RegionsView, ProcessesAddUpByPathTypeAndShape) {
  Regions other;
  other.rows = {row({"start"}, 7, 7), row({"step"}, 500, 400), row({"step", "gemm"}, 100, 100)};
  other.rows[2].counts.pop_back();
  const Regions both[] = {sample(), other};
  const Regions seen = merge_regions(both);
  EXPECT_EQ(seen.processes, 2u);
  EXPECT_THAT(names(seen), ElementsAre("step", "conv", "gemm", "conv", "gemm", "gemm", "start"));
  EXPECT_EQ(*seen.rows[0].total_ns, 1500);
  EXPECT_EQ(seen.rows[0].threads, 2u);
  EXPECT_EQ(*seen.rows[4].self_ns, 160);
  EXPECT_EQ(seen.rows[4].counts.size(), 2u);
}

// Every number of the record, in every form of the report.
TEST(RegionsReport, JsonCsvMarkdownAndTextAgree) {
  report::Profile profile;
  profile.regions = view_regions(sample(), {.group_by = GroupBy::kShape, .sort = ""});
  const auto& rows = profile.regions->rows;
  const auto json = nlohmann::json::parse(report::profile_json(profile))["regions"];
  const std::string csv = report::regions_csv(*profile.regions);
  const std::string markdown = report::as_markdown(report::profile_document(profile));
  const std::string text =
      report::as_text(report::profile_document(profile), {.columns = 300, .full = true});
  ASSERT_EQ(json["rows"].size(), rows.size());
  EXPECT_EQ(json["group_by"], "shape");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Region& row = rows[i];
    const auto& of_json = json["rows"][i];
    EXPECT_EQ(of_json["self_ns"], *row.self_ns);
    EXPECT_EQ(of_json["total_ns"], *row.total_ns);
    EXPECT_EQ(of_json["memory_bytes"]["peak"], row.memory->peak_bytes);
    EXPECT_EQ(of_json["counters"]["page-faults"]["self"], *row.counts[0].self);
    EXPECT_TRUE(of_json["counters"]["cycles"]["self"].is_null());
    EXPECT_THAT(csv, HasSubstr(fmt::format("{},{},{},{},", row.calls, *row.total_ns, *row.self_ns,
                                           *row.total_share)));
    const std::vector<std::string> cells = {
        row.name,
        fmt::format("{:.2f}", *row.self_share * 100),
        report::duration(*row.self_ns),
        fmt::format("{:.2f}", *row.total_share * 100),
        report::duration(*row.total_ns),
        report::duration(*row.total_ns / static_cast<double>(row.calls)),
        fmt::format("{}", row.calls)};
    EXPECT_THAT(markdown, HasSubstr(fmt::format("| {} |", fmt::join(cells, " | "))));
    bool found = false;  // all of them in one line
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::size_t place = 0;
      for (const std::string& cell : cells)
        if (place != std::string::npos) place = line.find(cell, place);
      found = found || place != std::string::npos;
    }
    EXPECT_TRUE(found) << row.name << "\n" << text;
  }
  EXPECT_THAT(text, HasSubstr("cycles: there is no PMU"));
  EXPECT_THAT(text, HasSubstr("costs time"));
}

}  // namespace
}  // namespace hwprof
