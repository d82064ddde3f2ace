#include "src/observe/proc/layer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/base/own_parts.h"
#include "src/base/text.h"
#include "src/base/untrusted_file.h"
#include "src/model/from_json.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;
using LayerLine = nlohmann::json;

constexpr std::string_view kLayerSuffix = ".layers";
constexpr std::uint64_t kMostLayerBytes = 16U << 20U;
constexpr std::size_t kMostLayerFiles = 10'000, kMostProblems = 20;

std::string text_in(const LayerLine& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_in(const LayerLine& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

void take_line(const LayerLine& line, LayerProcess& process) {
  if (const std::string torch = text_in(line, "torch"); !torch.empty()) process.torch = torch;
  if (const std::uint64_t module = number_in(line, "module"); module > 0 && module <= UINT32_MAX)
    process.modules[static_cast<std::uint32_t>(module)] = {text_in(line, "name"),
                                                           text_in(line, "type")};
  if (const std::string problem = text_in(line, "problem");
      !problem.empty() && process.problems.size() < kMostProblems)
    process.problems.push_back(problem);
  if (!line.contains("ended")) return;
  process.ended = true;
  process.hooks = number_in(line, "hooks");
  process.hook_ns = static_cast<double>(number_in(line, "hook_ns"));
  process.onednn = text_in(line, "onednn");
}

}  // namespace

LayerProcess parse_layer_lines(const std::string& text) {
  LayerProcess process;
  std::istringstream lines(text);
  for (std::string each; std::getline(lines, each);) {
    if (!model::check_json(each)) continue;
    const LayerLine line = LayerLine::parse(each, nullptr, false);
    if (line.is_object()) take_line(line, process);
  }
  return process;
}

Result<LayerFiles> LayerFiles::prepare() {
  TRY(const std::string start,
      find_own_part("hwprof's Python package", {"python/start/sitecustomize.py", HWPROF_DATADIR
                                                "/hwprof/python/start/sitecustomize.py"}));
  TRY(std::string library, find_own_part("libhwprof", {"counters/regions/libhwprof.so.0",
                                                       HWPROF_LIBDIR "/libhwprof.so.0"}));
  if (start.find(':') != std::string::npos)
    return environment_error(0, "PYTHONPATH cannot name " + start,
                             "put hwprof into a folder without a colon in its path");
  TRY(PrivateFolder folder, PrivateFolder::make("layers"));
  LayerFiles files(std::move(folder));
  files.python_ = fs::path(start).parent_path().string();
  files.library_ = std::move(library);
  return files;
}

std::vector<std::string> LayerFiles::environment(const char* python_path) const {
  const std::string others = python_path != nullptr ? python_path : "";
  return {"HWPROF_LAYERS=" + folder_.path().string(), "HWPROF_LIBRARY=" + library_,
          "PYTHONPATH=" + python_ + (others.empty() ? "" : ":" + others)};
}

std::vector<LayerProcess> LayerFiles::read() const {
  std::vector<LayerProcess> processes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_.path(), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kLayerSuffix) || processes.size() >= kMostLayerFiles) continue;
    const auto pid = parse_unsigned(name.substr(0, name.size() - kLayerSuffix.size()));
    const auto text = read_untrusted(entry.path().string(),
                                     {.owner = ::geteuid(), .most_bytes = kMostLayerBytes});
    if (!pid || *pid > UINT32_MAX || !text) continue;
    LayerProcess process = parse_layer_lines(*text);
    process.pid = static_cast<std::uint32_t>(*pid);
    processes.push_back(std::move(process));
  }
  std::sort(processes.begin(), processes.end(),
            [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return processes;
}

}  // namespace hwprof
