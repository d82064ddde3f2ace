// The probes of a session, and the events that they make up: what is open, and how its records are
// read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/observe/calls/probe_set.h"
#include "src/observe/calls/probes.h"

namespace hwprof::observe {

class ProbeGroup {
 public:
  static Result<ProbeGroup> make();

  // Adds each probe to the event of its kind, which it makes where there is none of this
  // generation.
  Result<void> define(const RoutineFile& file, std::span<const ProbeSet::Probe> probes);
  // Probes from here on are of new events: those that are open take no more.
  void begin_generation() { ++generation_; }
  [[nodiscard]] int generation() const { return generation_; }
  [[nodiscard]] std::size_t events() const { return formats_.size(); }
  [[nodiscard]] const std::vector<EventFormat>& formats() const { return formats_; }  // of events
  // Takes all out of the system, once nobody has their events open. Gives what stays, a sentence
  // each.
  std::vector<std::string> remove();

 private:
  explicit ProbeGroup(std::unique_ptr<ProbeSet> probes) : probes_(std::move(probes)) {}

  std::unique_ptr<ProbeSet> probes_;
  int generation_ = 0;
  std::vector<EventFormat> formats_;
};

}  // namespace hwprof::observe
