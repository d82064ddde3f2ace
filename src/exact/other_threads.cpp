// A thread that slept before and after, and has left its CPU no more often, has not run.
#include "src/exact/other_threads.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

namespace hwprof::exact {

OtherThreads OtherThreads::now() {
  OtherThreads found;
  const auto self = static_cast<int>(syscall(SYS_gettid));
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    const std::string name = entry.path().filename();
    int id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id == self) continue;
    State state;
    std::ifstream file(entry.path() / "status");
    for (std::string line; std::getline(file, line);) {
      const std::string_view text = line;
      const std::size_t value = text.find_first_not_of(" \t", text.find(':') + 1);
      if (value == std::string_view::npos) continue;
      if (text.starts_with("State:")) state.sleeps = text[value] == 'S';
      if (text.find("voluntary_ctxt_switches:") <= 3) {
        unsigned long long switches = 0;
        std::from_chars(text.data() + value, text.data() + text.size(), switches);
        state.switches += switches;
      }
    }
    found.threads_.emplace(id, state);
  }
  return found;
}

OtherThreads OtherThreads::at_rest() {
  constexpr std::chrono::milliseconds kBetween{2};
  constexpr int kLooks = 500;
  OtherThreads found = now();
  for (int look = 0; look < kLooks && !found.all_sleep(); ++look) {
    std::this_thread::sleep_for(kBetween);
    found = now();
  }
  return found;
}

bool OtherThreads::all_sleep() const {
  return std::all_of(threads_.begin(), threads_.end(),
                     [](const auto& thread) { return thread.second.sleeps; });
}

std::optional<std::string> OtherThreads::ran_until(const OtherThreads& later) const {
  std::size_t ran = 0;
  for (const auto& [id, before] : threads_) {
    const auto after = later.threads_.find(id);
    const bool slept = after != later.threads_.end() && before.sleeps && after->second.sleeps &&
                       before.switches == after->second.switches;
    ran += slept ? 0 : 1;
  }
  for (const auto& [id, state] : later.threads_) ran += threads_.contains(id) ? 0 : 1;
  if (ran == 0) return std::nullopt;
  return fmt::format("{} other thread{} of the process ran", ran, ran == 1 ? "" : "s");
}

}  // namespace hwprof::exact
