#include "src/model/memory_record.h"

namespace hwprof::model {

template <>
const Record& record<MemoryArea>() {
  static constexpr Field kFields[] = {
      field<&MemoryArea::name>("name", "", "`[heap]`; null: without a name").null_if_empty(),
      field<&MemoryArea::bytes>("bytes", "B", "of addresses"),
      field<&MemoryArea::resident_bytes>("resident_bytes", "B", "of memory"),
      field<&MemoryArea::huge_bytes>("huge_bytes", "B", "of those: in transparent huge pages"),
  };
  static constexpr Record kRecord{
      "MemoryArea", "One private mapping: arrays that lie beside each other may share it.",
      kFields};
  return kRecord;
}

template <>
const Record& record<MemoryNode>() {
  static constexpr Field kFields[] = {
      field<&MemoryNode::node>("node", "", "as the kernel numbers it"),
      field<&MemoryNode::bytes>("bytes", "B", "of the areas that lie on it"),
      field<&MemoryNode::run_share>("run_share", "",
                                    "of the running threads that were seen; null: below 20 were"),
  };
  static constexpr Record kRecord{"MemoryNode", "A NUMA node.", kFields};
  return kRecord;
}

template <>
const Record& record<LargeMemory>() {
  static constexpr Field kFields[] = {
      field<&LargeMemory::areas>("areas", "", "of 16 MiB and more, most resident first; at most 8"),
      field<&LargeMemory::huge_pages>("huge_pages", "",
                                      "the kernel's setting: `always`, `madvise`, `never`; "
                                      "`process`: the process has none; null: not known")
          .null_if_empty(),
      field<&LargeMemory::nodes>("nodes", "", "empty: `nodes_reason`"),
      field<&LargeMemory::nodes_reason>("nodes_reason", "", "").null_if_empty(),
      field<&LargeMemory::looks>("looks", "", "at the memory, while the program ran"),
      field<&LargeMemory::running_seen>("running_seen", "",
                                        "running threads whose CPU was read, with several nodes"),
      field<&LargeMemory::reason>("reason", "", "why `areas` is empty").null_if_empty(),
  };
  static constexpr Record kRecord{
      "LargeMemory",
      "The large areas of the process that held most memory, as they were when it held most.",
      kFields};
  return kRecord;
}

}  // namespace hwprof::model
