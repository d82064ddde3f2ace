// What the build makes of src/report/html: the page's style and script (bundle.py). Without esbuild
// or D3 the script is empty, and pages have tables and no charts.
#pragma once

#include <string_view>

namespace hwprof::report {

struct PageAssets {
  std::string_view style, script;
  std::string_view style_hash, script_hash;  // for the page's Content-Security-Policy: "sha256-..."
  std::string_view licence;                  // of what is bundled into the script
};

extern const PageAssets kPageAssets;

}  // namespace hwprof::report
