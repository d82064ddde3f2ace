// What lies where in the observed processes at each moment, kept up from the kernel's records.
// Pure but for records_of_running(). perf does not tell of munmap: a mapping lives until another
// lies over it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/observe/perf/records.h"

namespace hwprof::observe {

struct Mapping {
  std::uint64_t start = 0, end = 0;
  std::uint64_t offset = 0;  // of `start` in the file
  FileId file;
  std::string path;
  std::uint64_t generation = 0;  // unique: a mapping made anew at the same place is another
};

class AddressSpaces {
 public:
  // Mapped, Forked, Named, Exited; others change nothing.
  void apply(const Record& record);
  void apply(const Mapped& mapped);
  void apply(const Forked& forked);
  void apply(const Named& named);
  void apply(const Exited& exited);

  // The mapping that holds `address`, or nullptr; valid until the next apply().
  [[nodiscard]] const Mapping* find(int pid, std::uint64_t address) const;
  // What the kernel calls the process ("python3"); "" unknown.
  [[nodiscard]] std::string name(int pid) const;

 private:
  using Map = std::map<std::uint64_t, Mapping>;  // by start
  struct Space {
    std::shared_ptr<Map> map = std::make_shared<Map>();  // shared after a fork until one changes
    std::string name;
    int threads = 1;
  };

  std::unordered_map<int, Space> spaces_;
  std::uint64_t generation_ = 0;
};

// Of a process that runs already, what the kernel would have written of it: its name, its further
// threads, its executable mappings.
std::vector<Record> records_of_running(int pid);

}  // namespace hwprof::observe
