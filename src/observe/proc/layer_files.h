// What the Python processes of a program tell of the modules in them (python/hwprof/_record.py),
// beside their regions: each has a file of lines, which a process that dies leaves behind, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/observe/proc/private_folder.h"

namespace hwprof {

struct LayerProcess {
  std::uint32_t pid = 0;
  std::string torch;  // version; empty: it was not imported
  // Name and type of each module by its number.
  std::map<std::uint32_t, std::pair<std::string, std::string>> modules;
  std::string onednn;  // the most that it computes with: "avx512"; empty: not known
  std::vector<std::string> problems;
  bool ended = false;  // as a Python ends, so that the rest is known
  std::uint64_t hooks = 0;
  double hook_ns = 0;
};

class LayerFiles {
 public:
  // Fails where a part of hwprof is missing.
  static Result<LayerFiles> prepare();
  // NAME=value for the command. `python_path`: the value that it would have.
  [[nodiscard]] std::vector<std::string> environment(const char* python_path) const;
  // Of each process, once they have ended.
  [[nodiscard]] std::vector<LayerProcess> read() const;

 private:
  explicit LayerFiles(PrivateFolder folder) : folder_(std::move(folder)) {}

  PrivateFolder folder_;
  std::string python_, library_;  // folder of the packages, path of libhwprof
};

// Lines as a process writes them, or anything else: what is not understood is passed over.
LayerProcess parse_layer_lines(const std::string& text);

}  // namespace hwprof
