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
  // What ran between, as a sentence's subject and verb ("2 other threads ran"); nothing if none
  // did.
  [[nodiscard]] std::optional<std::string> ran_until(const OtherThreads& later) const;

 private:
  struct State {
    bool sleeps = false;
    unsigned long long switches = 0;
  };
  std::map<int, State> threads_;
};

}  // namespace hwprof::exact
