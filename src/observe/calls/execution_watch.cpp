#include "src/observe/calls/execution_watch.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <time.h>

#include <cstring>
#include <utility>
#include <variant>

#include "src/observe/calls/mapped_file.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::observe {

Result<ExecutionWatch> ExecutionWatch::open(pid_t pid) {
  perf_event_attr attr = tree_event(kInstructionHits, true);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  add_task_records(attr);
  attr.exclude_kernel = attr.exclude_hv = 1;  // an ordinary user may have no others
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  ExecutionWatch watch;
  TRY(watch.rings_.open(attr, pid, [](int code) {
    return environment_error(
        code, fmt::format("the kernel does not tell which programs run: {}", std::strerror(code)));
  }));
  return watch;
}

void ExecutionWatch::apply(bool all) {
  for (const Record& record : rings_.in_order(all)) {
    executions_.apply(record);
    const auto* mapped = std::get_if<Mapped>(&record.body);
    if (mapped != nullptr) add_file(*mapped, record.time_ns);
  }
}

void ExecutionWatch::add_file(const Mapped& mapped, std::uint64_t time_ns) {
  if (is_nameless_file(mapped)) more_files_ = true;
  // "[vdso]", "//anon": of no file.
  if (!mapped.path.starts_with('/') || mapped.path.starts_with("//")) return;
  if (files_.size() >= kMostFiles && !files_.contains(mapped.path)) {
    more_files_ = true;
    return;
  }
  const MappedFile file{mapped.file.inode, mapped.generation, time_ns, mapped.deleted};
  MappedFile& known = files_.try_emplace(mapped.path, file).first->second;
  // One after the other, or in different mount namespaces.
  if (mapped.deleted || known.inode != file.inode || known.generation != file.generation)
    known.gone = true;
}

std::set<std::string> ExecutionWatch::files() const {
  const Clocks now = Clocks::now();
  std::set<std::string> paths;
  for (const auto& [path, file] : files_) {
    // By the inode alone: btrfs and overlayfs give mappings other device numbers.
    const UniqueFd here = file.gone ? UniqueFd() : open_regular_file(path);
    const auto version = version_of(here.get());
    const bool as_mapped = version && file_id(here.get()).inode == file.inode &&
                           unchanged_since_ns(*version, now) <= file.first_ns;
    paths.insert(as_mapped ? path : path + " (deleted)");
  }
  return paths;
}

void ExecutionWatch::drain() {
  rings_.read();
  apply(false);
}

std::optional<ExecutionWatch::Count> ExecutionWatch::finish(const std::vector<pid_t>& left) {
  rings_.disable();
  rings_.read();
  apply(true);
  // Where the kernel took the events from one, nobody tells what that has started.
  const bool complete = executions_.complete() && !rings_.broken() && !more_files_ &&
                        executions_.watched() == executions_.count();
  if (!complete) return std::nullopt;
  executions_.miss_what_goes_on(left);
  return Count{executions_.count(), executions_.going_on()};
}

}  // namespace hwprof::observe
