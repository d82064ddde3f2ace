// The kernel's list of user-space probes: a thin shell. All probes of a session stand in one group
// whose name says whose they are, so that a later session can remove what a killed one has left.
// Nothing else is ever left in the system but private folders, which look after themselves (the
// table of the audit library has no name, and goes with its last user).
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/probe_set.h"

namespace hwprof::observe {

// "hwprof_PID_START_NAMESPACE_RANDOM": a later session must know whether this process still lives.
// Empty when the kernel does not say when we were started.
std::string new_group_name();
// What is left of sessions whose process is gone, as "group/event", from the list of all probes.
// `given_up`: a process that counts as gone.
std::vector<std::string> dead_events(std::string_view list, pid_t given_up = 0);
// Removes just that; quietly nothing where we may not.
void remove_leftover_probes(pid_t given_up = 0);

class Tracefs {
 public:
  // Where it is mounted; else a mount of our own that no other process sees (fsmount(2)).
  static Result<Tracefs> open();

  // Appends one line to uprobe_events. Never a truncating open: it deletes everybody's probes.
  [[nodiscard]] Result<void> write_line(const std::string& line) const;
  [[nodiscard]] std::optional<std::string> read(const std::string& file) const;

 private:
  explicit Tracefs(UniqueFd root) : root_(std::move(root)) {}
  UniqueFd root_;
};

// Probes of a process that may set them, all in one group.
class TracefsProbes : public ProbeSet {
 public:
  static Result<std::unique_ptr<TracefsProbes>> make();
  ~TracefsProbes() override { TracefsProbes::remove(); }
  Result<std::vector<EventFormat>> define(int file, int generation,
                                          std::span<const Probe> probes) override;
  std::vector<std::string> remove() override;

 private:
  TracefsProbes(Tracefs tracefs, std::string name)
      : tracefs_(std::move(tracefs)), name_(std::move(name)) {}

  Result<EventFormat> define(int file, int generation, const Probe& probe);

  Tracefs tracefs_;
  std::string name_;
  std::map<std::string, EventFormat> events_;
};

}  // namespace hwprof::observe
