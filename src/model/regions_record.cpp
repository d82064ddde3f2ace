#include "src/model/regions_record.h"

namespace hwprof::model {
namespace {

constexpr std::string_view kNoCallEnded = "no call has ended";

std::optional<std::string_view> no_time_because(const Region& region) {
  return region.total_ns ? std::nullopt : std::optional(kNoCallEnded);
}
std::optional<std::string_view> no_rate_because(const Region& region) {
  if (region.gflops) return std::nullopt;
  return region.flops > 0 ? kNoCallEnded : "no floating-point operations were declared";
}

// "forward / conv1d"; of a group its name.
std::string path_column(const Region& region) {
  std::string text;
  for (const std::string& name : region.path) text += (text.empty() ? "" : " / ") + name;
  return region.path.empty() ? region.name : text;
}

}  // namespace

template <>
const Record& record<RegionView>() {
  static constexpr Field kFields[] = {
      field<&RegionView::group_by>("group_by", "", "what is added up"),
      field<&RegionView::sort>("sort", "", "column, largest first").null_if_empty(),
      field<&RegionView::top>("top", "", "rows; null: all").null_if_empty(),
      field<&RegionView::depth>("depth", "", "levels; null: all").null_if_empty(),
  };
  static constexpr Record kRecord{"View", "What was asked for.", kFields};
  return kRecord;
}

template <>
const Record& record<RegionCount>() {
  static constexpr Field kFields[] = {
      field<&RegionCount::total>("total", "", "with nested regions")
          .column("total")
          .with(Field::kUnitInColumn),
      field<&RegionCount::self>("self", "", "without").column("self").with(Field::kUnitInColumn),
      field<&RegionCount::unit>("unit", "", "`1` or `ns`"),
      field<&RegionCount::status>("status", "", "as of the counters of a row"),
      field<&RegionCount::reason>("reason", "", "why it is null, or what to know about it")
          .null_if_empty()
          .column("reason"),
  };
  static constexpr Record kRecord{"RegionCount", "Of one event in a region.", kFields};
  return kRecord;
}

template <>
const Record& record<RegionMemory>() {
  static constexpr Field kFields[] = {
      field<&RegionMemory::self_bytes>("self", "B", "without nested regions")
          .column("memory_self_bytes"),
      field<&RegionMemory::total_bytes>("total", "B", "").column("memory_total_bytes"),
      field<&RegionMemory::peak_bytes>("peak", "B",
                                       "above what was live at its entry; the highest of its calls")
          .column("memory_peak_bytes"),
  };
  static constexpr Record kRecord{"RegionMemory", "Allocated inside by the thread that is in it.",
                                  kFields};
  return kRecord;
}

template <>
const Record& record<Region>() {
  static constexpr Field kFields[] = {
      field<&Region::name>("name", "", "").column("name"),
      only_in_csv<path_column>("path"),
      field<&Region::type>("type", "", "as described").null_if_empty().column("type"),
      field<&Region::shape>("shape", "", "as described").null_if_empty().column("shape"),
      field<&Region::path>("path", "", "names from outside in; empty for a group"),
      field<&Region::depth>("depth", "", "0: in no other region").column("depth"),
      field<&Region::threads>("threads", "", "").column("threads"),
      field<&Region::calls>("calls", "", "").column("calls"),
      field<&Region::total_ns>("total_ns", "ns", "with nested regions").column("total_ns"),
      field<&Region::self_ns>("self_ns", "ns", "without; neither has what entering costs")
          .column("self_ns"),
      computed<no_time_because>("time_reason", "", "why both are null"),
      field<&Region::total_share>("total_share", "", "of the self times of all regions")
          .column("total_share"),
      field<&Region::self_share>("self_share", "", "of the same").column("self_share"),
      field<&Region::flops>("flops", "FLOP", "declared, with nested regions").column("flops"),
      field<&Region::bytes>("bytes", "B", "declared, with nested regions").column("bytes"),
      field<&Region::gflops>("gflops", "GFLOP/s", "of one thread").column("gflops"),
      computed<no_rate_because>("gflops_reason", "", "why it is null"),
      field<&Region::memory>("memory_bytes", "B", "null: `memory_reason`").columns_inside(),
      by_name<&Region::counts, &RegionCount::name>("counters", "", "by event"),
  };
  static constexpr Record kRecord{"Region", "", kFields};
  return kRecord;
}

template <>
const Record& record<RegionTrace>() {
  static constexpr Field kFields[] = {
      field<&RegionTrace::path>("path", "", "of the file"),
      field<&RegionTrace::calls>("calls", "", "in it"),
      field<&RegionTrace::dropped>("dropped", "", "earlier ones that found no room"),
      field<&RegionTrace::spans>("spans", "", "of the calls, the longest"),
      field<&RegionTrace::spans_begin_ns>("spans_begin_ns", "ns",
                                          "CLOCK_MONOTONIC when the first of them began; null: "
                                          "there is none"),
      field<&RegionTrace::spans_note>("spans_note", "", "which are left out").null_if_empty(),
  };
  static constexpr Record kRecord{"Trace", "With `--trace`.", kFields};
  return kRecord;
}

template <>
const Record& record<OverheadRow>() {
  static constexpr Field kFields[] = {
      field<&OverheadRow::mode>("mode", "", "how it is watched"),
      field<&OverheadRow::pass_ns>("pass_ns", "ns", "median; null: `reason`"),
      field<&OverheadRow::ratio>("ratio", "", "to the unwatched turns beside it"),
      interval<&OverheadRow::ratio_low, &OverheadRow::ratio_high>("ratio_ci95", "", ""),
      field<&OverheadRow::memory_bytes>("memory_bytes", "B", ""),
      field<&OverheadRow::reason>("reason", "", "").null_if_empty(),
  };
  static constexpr Record kRecord{"Overhead", "What watching costs on the same work.", kFields};
  return kRecord;
}

template <>
const Record& record<Regions>() {
  static constexpr Field kFields[] = {
      field<&Regions::work>("work", "", "what was done").null_if_empty(),
      spliced<&Regions::view>(),
      field<&Regions::hidden>("hidden", "", "rows that the view leaves out"),
      field<&Regions::processes>("processes", "", "that are added up"),
      field<&Regions::rows>("rows", "", "of paths without a sort: depth first"),
      field<&Regions::memory_reason>("memory_reason", "", "why no row has its memory")
          .null_if_empty(),
      field<&Regions::notes>("notes", "", "what to know about them"),
      field<&Regions::trace>("trace", "", "null: none was asked for"),
      field<&Regions::overhead>("overhead", "", "with `--overhead`"),
  };
  static constexpr Record kRecord{"Regions", "Named regions of a run.", kFields};
  return kRecord;
}

namespace {

// Numbers of a file stand twice, as counted and as corrected for what regions cost.
const Record& count_in_file() {
  static constexpr Field kFields[] = {
      field<&RegionCount::total>("total.corrected", "", ""),
      field<&RegionCount::self>("self.corrected", "", ""),
      field<&RegionCount::status>("status", "", ""),
      field<&RegionCount::reason>("reason", "", "").null_if_empty(),
  };
  static constexpr Record kRecord{"RegionCount", "", kFields};
  return kRecord;
}

const Record& region_in_file() {
  static constexpr Field kFields[] = {
      field<&Region::path>("path", "", ""),
      field<&Region::type>("type", "", "").null_if_empty(),
      field<&Region::shape>("shape", "", "").null_if_empty(),
      field<&Region::depth>("depth", "", ""),
      field<&Region::threads>("threads", "", ""),
      field<&Region::calls>("calls", "", ""),
      field<&Region::total_ns>("total_ns.corrected", "ns", ""),
      field<&Region::self_ns>("self_ns.corrected", "ns", ""),
      field<&Region::flops>("flops", "FLOP", ""),
      field<&Region::bytes>("bytes", "B", ""),
      field<&Region::gflops>("gflops", "GFLOP/s", ""),
      field<&Region::memory>("memory_bytes", "B", ""),
      by_name<&Region::counts, &RegionCount::name>("events", "", "").described_by(count_in_file),
  };
  static constexpr Record kRecord{"Region", "", kFields};
  return kRecord;
}

}  // namespace

template <>
const Record& record<RegionsFile::Event>() {
  static constexpr Field kFields[] = {
      field<&RegionsFile::Event::name>("name", "", ""),
      field<&RegionsFile::Event::shown_as>("shown_as", "", ""),
      field<&RegionsFile::Event::unit>("unit", "", ""),
  };
  static constexpr Record kRecord{"RegionEvent", "", kFields};
  return kRecord;
}

template <>
const Record& record<RegionsFile>() {
  static constexpr Field kFields[] = {
      field<&RegionsFile::events>("events", "", ""),
      field<&RegionsFile::regions, &Regions::rows>("regions", "", "").described_by(region_in_file),
      field<&RegionsFile::regions, &Regions::memory_reason>("memory_reason", "", "")
          .null_if_empty(),
      field<&RegionsFile::regions, &Regions::notes>("notes", "", ""),
  };
  static constexpr Record kRecord{"RegionsFile", "docs/regions.md says what it all is.", kFields,
                                  "hwprof.regions/1"};
  return kRecord;
}

}  // namespace hwprof::model
