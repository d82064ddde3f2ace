// Stacks as flame graphs: folded text, a drawing, a page around the drawing, a speedscope profile,
// a profile for pprof. Names come from the observed program and may hold anything ("</script>",
// newlines): each writer escapes them for its format.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/model/stacks.h"

namespace hwprof::report {

// "python3;main;sgemm_kernel 42", a line a stack, as flamegraph.pl and others read it.
std::string folded_text(std::span<const FoldedStack> stacks);

struct FlameOptions {
  std::string title;  // "hwprof run -- python3 train.py"
  double hz = 0;      // samples a second: tells what a sample stands for; 0: not said
  std::int64_t started_ns = 0, wall_ns = 0;  // since 1970, and for how long; 0: not said
};

// One SVG file that needs nothing else: boxes tell their share, a click enlarges, Ctrl-F searches.
std::string flame_svg(std::span<const FoldedStack> stacks, const FlameOptions& options);
// The same in a page that says how to read it.
std::string flame_html(std::span<const FoldedStack> stacks, const FlameOptions& options);
// The page where `path` ends in ".html", else the file.
std::string flame_for(const std::string& path, std::span<const FoldedStack> stacks,
                      const FlameOptions& options);
// For speedscope.app: https://www.speedscope.app/file-format-schema.json, a "sampled" profile.
std::string speedscope_json(std::span<const FoldedStack> stacks, const FlameOptions& options);
// For pprof, packed by gzip: https://github.com/google/pprof/blob/main/proto/profile.proto. The
// process is a label of each sample. Objects lie at made-up addresses, one behind the other and
// each as its file is: what was at two addresses in two processes is one place.
std::string pprof_profile(const PlacedStacks& stacks, const FlameOptions& options);

}  // namespace hwprof::report
