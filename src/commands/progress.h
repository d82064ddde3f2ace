// One line on standard error that says how far a measurement is; only where a person looks at it.
#pragma once

#include <chrono>
#include <string>

namespace hwprof {

class Progress {
 public:
  // Silent unless standard error is a terminal and `wanted`.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void clear();
  // Redraws at most ten times a second.
  void show(const std::string& step, double fraction);

 private:
  bool active_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace hwprof
