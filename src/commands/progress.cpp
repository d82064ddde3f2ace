#include "src/commands/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace hwprof {

Progress::Progress(bool wanted) : active_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::clear() {
  // "Erase to end of line": nothing of the bar stays above the report.
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::show(const std::string& step, double fraction) {
  constexpr std::size_t kWidth = 30;
  const auto now = std::chrono::steady_clock::now();
  if (!active_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
  drawn_ = true;
  last_ = now;
  const double share = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * kWidth);
  std::fputs(fmt::format("\r\x1b[K[{}{}] {:3.0f} %  {}", std::string(filled, '#'),
                         std::string(kWidth - filled, '.'), 100 * share, step)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

}  // namespace hwprof
