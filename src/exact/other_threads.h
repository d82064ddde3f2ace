// Whether other threads of this process ran in a while: what they did is not in the counts of the
// one that was counted, so there is no count of the region then.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace hwprof::exact {

class OtherThreads {
 public:
  // Notes how often each other thread has given up its CPU, and whether it sleeps.
  static OtherThreads now();
  // Once all of them sleep, or after a second: workers spin for a while when their work is done.
  static OtherThreads at_rest();
  // What ran between, as a sentence's subject and verb ("2 other threads ran"); nothing if none
  // did.
  [[nodiscard]] std::optional<std::string> ran_until(const OtherThreads& later) const;

 private:
  [[nodiscard]] bool all_sleep() const;

  struct State {
    bool sleeps = false;
    unsigned long long switches = 0;
  };
  std::map<int, State> threads_;
};

}  // namespace hwprof::exact
