#include "src/model/node_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hwprof::model {
namespace {

std::string node_library_words(const NodeLibrary& library) {
  std::string text(report::to_text(library.provider));
  if (library.deleted) text = library.path.substr(library.path.rfind('/') + 1) + " (deleted)";
  if (library.unreadable)
    text = library.path.substr(library.path.rfind('/') + 1) + " (not readable)";
  for (const std::string& part : {library.version, library.core})
    if (!part.empty()) text += " " + part;
  return text;
}

}  // namespace

std::string blas_in_words(const NodeProcess& process) {
  std::vector<std::string> all;
  for (const NodeLibrary& library : process.libraries) all.push_back(node_library_words(library));
  if (process.more_libraries > 0) all.push_back(fmt::format("{} more", process.more_libraries));
  return fmt::format("{}", fmt::join(all, " + "));
}

std::string blas_threads_in_words(const NodeProcess& process) {
  std::vector<std::string> all;
  for (const NodeLibrary& library : process.libraries)
    all.push_back(library.threads ? std::to_string(*library.threads) : "-");
  return fmt::format("{}", fmt::join(all, "+"));
}

template <>
const Record& record<NodeLibrary>() {
  static constexpr Field kFields[] = {
      spliced_base<NodeLibrary, report::Blas>(),
      field<&NodeLibrary::vector_class>("vector_class", "", "of that core").null_if_empty(),
      field<&NodeLibrary::reason>("reason", "", "why there is no core").null_if_empty(),
      field<&NodeLibrary::elsewhere>(
          "elsewhere", "", "in another mount namespace: its path is no file here, or another one"),
      field<&NodeLibrary::deleted>("deleted", "",
                                   "it is no longer at its path, as after an upgrade"),
      field<&NodeLibrary::unreadable>("unreadable", "",
                                      "for `reason`: it is known by its name alone"),
      field<&NodeLibrary::verdict>("verdict", "", "on it, should the process call it"),
      field<&NodeLibrary::factor>(
          "factor", "", "how many times faster the best rung of `blas.ladder` is; null: not known"),
      field<&NodeLibrary::why>("why", "", "the cause").null_if_empty(),
      field<&NodeLibrary::fix>("fix", "", "the variable or package that fixes it").null_if_empty(),
  };
  static constexpr Record kRecord{"NodeLibrary", "A BLAS that a process has mapped.", kFields};
  return kRecord;
}

template <>
const Record& record<NodeProcess>() {
  static constexpr Field kFields[] = {
      field<&NodeProcess::pid>("pid", "", "").column("pid"),
      field<&NodeProcess::uid>("uid", "", "effective").column("uid"),
      field<&NodeProcess::user>("user", "", "its name; the number where it has none")
          .column("user"),
      field<&NodeProcess::program>("program", "", "as `ps -o comm`").column("program"),
      field<&NodeProcess::job>("job", "",
                               "`slurm 123.0`, `session-3.scope`; null: none that is known")
          .null_if_empty()
          .column("job"),
      field<&NodeProcess::job_from>("job_from", "", "`cgroup`, `environment`")
          .null_if_empty()
          .column("job_from"),
      field<&NodeProcess::libraries>("libraries", "", "each BLAS that it has mapped, the first 16"),
      field<&NodeProcess::more_libraries>("more_libraries", "", "how many there are beyond those"),
      only_in_csv<blas_in_words>("blas"),
      only_in_csv<blas_threads_in_words>("blas_threads"),
      field<&NodeProcess::environment>("environment", "",
                                       "variables that shape a BLAS, as the process was started")
          .column("environment"),
      field<&NodeProcess::environment_reason>("environment_reason", "", "why it is not known")
          .null_if_empty()
          .column("environment_reason"),
      field<&NodeProcess::threads>("threads", "", "of the process, by the kernel")
          .column("threads"),
      field<&NodeProcess::cpus_used>("cpus_used", "",
                                     "CPU time / time: 1 is one whole CPU; null: not known")
          .column("cpus_used"),
      field<&NodeProcess::cpus_used_over>("cpus_used_over", "", "").column("cpus_used_over"),
      field<&NodeProcess::verdict>("verdict", "",
                                   "on what it has loaded; whether it calls it is "
                                   "not known")
          .column("verdict"),
      field<&NodeProcess::why>("why", "", "the cause").null_if_empty().column("why"),
      field<&NodeProcess::fix>("fix", "", "").null_if_empty().column("fix"),
  };
  static constexpr Record kRecord{"NodeProcess", "A running process with a BLAS.", kFields};
  return kRecord;
}

template <>
const Record& record<NodeUnread>() {
  static constexpr Field kFields[] = {
      field<&NodeUnread::reason>("reason", "", ""),
      field<&NodeUnread::processes>("processes", "", "how many"),
      field<&NodeUnread::first_pid>("first_pid", "", "one of them"),
  };
  static constexpr Record kRecord{"NodeUnread", "Processes that could not be looked at.", kFields};
  return kRecord;
}

template <>
const Record& record<Node>() {
  static constexpr Field kFields[] = {
      field<&Node::version>("hwprof.version", "", "of hwprof"),
      field<&Node::started_utc>("started_utc", "", "when the processes were looked at"),
      field<&Node::machine, &Machine::cpu_name>("cpu", "", "the CPU's name"),
      field<&Node::machine, &Machine::kernel>("kernel", "", "`uname -r`"),
      field<&Node::user>("user", "", "`--user`; null: all that may be read").null_if_empty(),
      field<&Node::looked_at>("looked_at", "", "processes, with a BLAS or without"),
      field<&Node::look_s>("look_s", "s", "that it took to look at them"),
      field<&Node::processes>("processes", "", "that have a BLAS mapped, most CPU time first"),
      field<&Node::unread>("unread", "", "processes that could not be looked at, by reason"),
      field<&Node::blas>("blas", "", "what programs get here that are started now"),
      field<&Node::blas_reason>("blas_reason", "", "why it was not measured").null_if_empty(),
      field<&Node::libraries>("libraries", "", "installed, fastest first"),
  };
  static constexpr Record kRecord{"Node", "The running processes that have a BLAS mapped.", kFields,
                                  "hwprof.node/1"};
  return kRecord;
}

}  // namespace hwprof::model
