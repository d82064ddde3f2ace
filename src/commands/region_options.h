// The options of a table of regions, the same for every command that has one.
#pragma once

#include <string>

#include "src/cli/value_options.h"
#include "src/cli/values.h"
#include "src/model/regions_record.h"

namespace hwprof::cli {

inline constexpr const char* kRegions = "The table of regions";
inline constexpr std::uint64_t kMaxRegionRows = 1'000'000;
inline constexpr Choice<report::GroupBy> kGroupings[] = {{"path", report::GroupBy::kPath},
                                                         {"name", report::GroupBy::kName},
                                                         {"shape", report::GroupBy::kShape},
                                                         {"type", report::GroupBy::kType}};

// `kView`: where Options has the view.
template <class Options, report::RegionView& (*kView)(Options&)>
inline constexpr ValueOption<Options> kRegionOptions[] = {
    {"--group-by", "path|name|shape|type", kRegions, Occurs::kOnce,
     [](const std::string& name, const std::string& text, Options& to) {
       return store(parse_choice(name, text, kGroupings), kView(to).group_by);
     },
     "Add up regions of the same call path, name, name and shape, or\n"
     "type. Default: path."},
    {"--sort", "COLUMN", kRegions, Occurs::kOnce,
     [](const std::string&, const std::string& text, Options& to) {
       return store<std::string>(text, kView(to).sort);
     },
     "Put the largest first: self, total, mean, calls, threads, flops,\n"
     "gflops, memory-self, memory, memory-peak, an event; or name.\n"
     "Default: paths as a tree, groups by self."},
    {"--top", "N", kRegions, Occurs::kOnce,
     [](const std::string& name, const std::string& text, Options& to) {
       return store(parse_whole(name, text, 1, kMaxRegionRows), kView(to).top);
     },
     "Show at most N rows. Default: all."},
    {"--depth", "N", kRegions, Occurs::kOnce,
     [](const std::string& name, const std::string& text, Options& to) {
       return store(parse_whole(name, text, 1, kMaxRegionRows), kView(to).depth);
     },
     "Show paths of at most N regions. Default: all."},
};

}  // namespace hwprof::cli
