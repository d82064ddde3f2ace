#include "src/commands/node/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "src/base/files.h"
#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/base/utc.h"
#include "src/observe/monitor/sandbox.h"
#include "src/observe/proc/signals.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

// The other screen of the terminal, without cursor and without wrapping; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H", kRestOfLine = "\x1b[K", kRestOfScreen = "\x1b[J";

// While it lives, standard output shows pages, and keys come one by one and unseen.
class Screen {
 public:
  Screen() : keys_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell would get the other screen back
      raw.c_cc[VMIN] = 1;
      raw.c_cc[VTIME] = 0;
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    static_cast<void>(report::write_stdout(std::string(kEnter)));
  }
  ~Screen() {
    static_cast<void>(report::write_stdout(std::string(kLeave)));
    if (keys_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] bool keys() const { return keys_; }

  static Result<void> show(const std::string& page) {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1;
    std::string text(kHome);
    const std::string shown = cut_to_rows(page, known ? size.ws_row : 24);
    for (const std::string_view line : split(shown, '\n'))
      text.append(line).append(kRestOfLine).append("\r\n");
    text.resize(text.size() - 2);  // a line feed on the last row would scroll
    return report::write_stdout(text.append(kRestOfScreen));
  }

 private:
  termios before_{};
  bool keys_;
};

struct Ending {
  bool over = false;
  int code = 0;
};

Ending take_signals(SignalWatch& signals) {
  while (const auto signal = signals.take()) {
    if (!signal->asks_for_end()) continue;
    // What the terminal sends is how one leaves; what a process sends is told on.
    return {true, signal->number == SIGINT || signal->from_kernel ? 0 : 128 + signal->number};
  }
  return {};
}

Ending take_keys(bool& keys) {
  std::array<char, 64> typed{};
  const ssize_t got =
      retry_interrupted([&] { return ::read(STDIN_FILENO, typed.data(), typed.size()); });
  if (got <= 0) {
    keys = false;  // the terminal is gone
    return {};
  }
  const std::string_view text(typed.data(), static_cast<std::size_t>(got));
  return {text.find_first_of("qQ") != std::string_view::npos, 0};
}

// Until `next`, or until `descriptor` can be read, or the end.
Ending wait_for(SignalWatch& signals, bool& keys, int descriptor, Clock::time_point next) {
  using std::chrono::milliseconds;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    // A negative descriptor is passed over (poll(2)).
    std::array<pollfd, 3> events{{{signals.descriptor(), POLLIN, 0},
                                  {keys ? STDIN_FILENO : -1, POLLIN, 0},
                                  {descriptor, POLLIN, 0}}};
    const auto longest = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    // Looked at once, however late it is.
    if (::poll(events.data(), events.size(), longest) > 0) {
      Ending end;
      if (events[0].revents != 0) end = take_signals(signals);
      if (!end.over && events[1].revents != 0) end = take_keys(keys);
      if (end.over || events[2].revents != 0) return end;
    }
    if (Clock::now() >= next) return {};
  }
}

// A look in a process of its own, which is ended where nobody waits for it any more.
class LookProcess {
 public:
  static Result<LookProcess> start(const std::function<Result<Page>()>& look) {
    TRY(Pipe said, make_pipe());
    LookProcess process;
    const pid_t parent = ::getpid();
    process.pid_ = ::fork();
    if (process.pid_ < 0)
      return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
    if (process.pid_ == 0) run(look, said.writer.get(), parent);
    process.said_ = std::move(said.reader);
    return process;
  }
  LookProcess(LookProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), said_(std::move(other.said_)) {}
  LookProcess& operator=(LookProcess&&) = delete;
  ~LookProcess() {
    if (pid_ > 0) end_child(pid_);
  }

  [[nodiscard]] int descriptor() const { return said_.get(); }
  // What it says by now; false: that was all.
  bool take() {
    std::array<char, 65536> part{};
    const ssize_t got =
        retry_interrupted([&] { return ::read(said_.get(), part.data(), part.size()); });
    if (got > 0) bytes_.append(part.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  Result<Page> page() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    Head head;
    const bool begins = bytes_.size() >= sizeof head;
    if (begins) std::memcpy(&head, bytes_.data(), sizeof head);
    if (!begins || bytes_.size() - sizeof head < head.text_bytes)
      return environment_error(0, "the process that looks " + how_it_ended(status));
    Page page{bytes_.substr(sizeof head, head.text_bytes),
              bytes_.substr(sizeof head + head.text_bytes)};
    if (head.failed)
      return tl::make_unexpected(Error{Fault::kEnvironment, head.code, page.text, page.known});
    return page;
  }

 private:
  struct Head {
    bool failed = false;
    int code = 0;
    std::uint64_t text_bytes = 0;
  };
  LookProcess() = default;

  // Its signals are its parent's to take.
  [[noreturn]] static void run(const std::function<Result<Page>()>& look, int to,
                               pid_t parent) try {
    observe::end_with_parent(parent);
    const Result<Page> page = look();
    const Page failed = page ? Page{} : Page{page.error().what, page.error().hint};
    const Page& said = page ? *page : failed;
    const Head head{!page, page ? 0 : page.error().code, said.text.size()};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    ::_exit(write_all(to, bytes + said.text + said.known) == 0 ? 0 : 1);
  } catch (...) {  // of memory
    ::_exit(1);
  }

  pid_t pid_ = 0;
  UniqueFd said_;
  std::string bytes_;
};

}  // namespace

std::string cut_to_rows(const std::string& page, std::size_t rows) {
  std::vector<std::string_view> lines = split(page, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::string cut;
  const bool fits = lines.size() <= rows;
  const std::size_t shown = fits ? lines.size() : rows - std::min<std::size_t>(1, rows);
  for (std::size_t i = 0; i < shown; ++i) cut.append(i == 0 ? "" : "\n").append(lines[i]);
  if (!fits) {
    cut += fmt::format("{}... {} more lines: a higher terminal shows them", shown == 0 ? "" : "\n",
                       lines.size() - shown);
  }
  return cut;
}

Result<int> watch_pages(double interval_s, const std::function<Result<Page>()>& look,
                        const std::function<void(std::string_view known)>& take) {
  TRY(SignalWatch signals, SignalWatch::begin());
  ignore_closed_pipes();
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_s));
  std::optional<Screen> screen;
  if (::isatty(STDOUT_FILENO) == 1) screen.emplace();
  bool keys = screen && screen->keys();
  auto next = Clock::now();
  for (bool is_first = true;; is_first = false) {
    TRY(LookProcess process, LookProcess::start(look));
    do {
      const Ending end = wait_for(signals, keys, process.descriptor(), Clock::time_point::max());
      if (end.over) return end.code;
    } while (process.take());
    // A signal of the terminal's may have ended it, too.
    if (const Ending end = take_signals(signals); end.over) return end.code;
    const Result<Page> page = process.page();
    // The first tells what is amiss with hwprof or its rights, a later one what passes.
    if (!page && is_first) return error_of(page);
    if (page) take(page->known);
    const std::string text =
        page ? page->text : fmt::format("no look at {}: {}\n", utc_now(), in_words(page.error()));
    if (screen) {
      TRY(Screen::show(text));
    } else if (page) {
      TRY(report::write_stdout(text + "\n"));
    } else {  // standard output is for pages, which a program may read
      fmt::print(stderr, "hwprof: {}", text);
    }
    next = std::max(next + interval, Clock::now());  // what was missed is left out
    const Ending end = wait_for(signals, keys, -1, next);
    if (end.over) return end.code;
  }
}

}  // namespace hwprof
