#include "src/observe/monitor/process_texts.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/files.h"
#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/observe/monitor/errands.h"
#include "src/observe/monitor/sandbox.h"
#include "src/observe/proc/signals.h"

namespace hwprof::observe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A busy machine may not let a reader run for a moment, which no other user's process shall pay
// for.
constexpr milliseconds kShortest{250}, kEndsWithin{100};
// 65,536 groups (NGROUPS_MAX) of 11 bytes in a status are 704 KiB.
constexpr std::size_t kMostBytesOfOne = std::size_t{1} << 20U;
// Three usual texts have some 3 KiB; what has no more than this is nobody's attack.
constexpr std::size_t kFreeBytesOfOne = std::size_t{8} << 10U;
constexpr std::size_t kMostBytesOfUser = std::size_t{16} << 20U;
constexpr std::size_t kMostBytesOfAll = std::size_t{128} << 20U;
constexpr std::size_t kMostListed = std::size_t{4} << 20U;  // PID_MAX_LIMIT of 64-bit kernels

struct Seen {
  pid_t pid = 0;
  uid_t user = 0;  // whom it counts as
};

enum class Told : std::uint8_t { kAsks, kTexts, kTooLong };

// Goes before the texts; without any it says which process is asked for now.
struct Head {
  pid_t pid = 0;
  std::array<std::uint32_t, 3> bytes{};
  Told told = Told::kAsks;
};

// /proc/PID itself is of the effective user, also where nobody may look into it (proc(5)).
Result<std::string> seen_in(const std::string& name, std::optional<uid_t> of) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(name.c_str()), &::closedir);
  if (folder == nullptr)
    return environment_error(errno, fmt::format("{}: {}", name, std::strerror(errno)));
  const SubordinateIds subordinates(read_text_file("/etc/subuid").value_or(""));
  std::string all;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto pid = parse_unsigned(static_cast<const char*>(entry->d_name));
    struct stat status {};
    if (!pid ||
        ::fstatat(::dirfd(folder.get()), static_cast<const char*>(entry->d_name), &status, 0) != 0)
      continue;
    if (of && status.st_uid != *of) continue;
    const Seen one{static_cast<pid_t>(*pid), subordinates.counts_as(status.st_uid)};
    all.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  return all;
}

std::deque<Seen> by_turns(const std::string& bytes) {
  struct Turn {
    std::size_t round = 0;
    Seen seen;
  };
  std::vector<Turn> turns(bytes.size() / sizeof(Seen));
  UserOrder users;
  std::map<uid_t, std::size_t> rounds;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Seen& seen = turns[i].seen;
    std::memcpy(&seen, bytes.data() + i * sizeof(Seen), sizeof(Seen));
    users.add(seen.user, 1);
    turns[i].round = rounds[seen.user]++;
  }
  std::stable_sort(turns.begin(), turns.end(), [&](const Turn& a, const Turn& b) {
    return a.round != b.round ? a.round < b.round : users.before(a.seen.user, b.seen.user);
  });
  std::deque<Seen> all;
  for (const Turn& turn : turns) all.push_back(turn.seen);
  return all;
}

// "" where there is none, or none any more; absent where it is too long.
std::optional<std::string> text_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return "";
  auto text = read_text(file.get(), kMostBytesOfOne);
  if (!text && errno != EFBIG) return "";
  return text;
}

// The reader from its first moment to its last.
[[noreturn]] void tell(const std::string& folder, const std::deque<Seen>& processes, int to,
                       pid_t parent) try {
  end_with_parent(parent);
  SignalWatch::restore_in_child();
  leave_what_is_hwprofs({to});
  for (const Seen& one : processes) {
    Head head{one.pid, {}, Told::kAsks};
    if (write_all(to, {reinterpret_cast<const char*>(&head), sizeof head}) != 0) ::_exit(1);
    const std::string way = fmt::format("{}/{}/", folder, one.pid);
    const std::array texts{text_of(way + "stat"), text_of(way + "status"), text_of(way + "cgroup")};
    const bool whole = texts[0] && texts[1] && texts[2];
    head.told = whole ? Told::kTexts : Told::kTooLong;
    for (std::size_t i = 0; whole && i < texts.size(); ++i)
      head.bytes.at(i) = static_cast<std::uint32_t>(texts.at(i)->size());
    std::string said(reinterpret_cast<const char*>(&head), sizeof head);
    for (std::size_t i = 0; whole && i < texts.size(); ++i) said += *texts.at(i);
    if (write_all(to, said) != 0) ::_exit(1);
  }
  ::_exit(0);
} catch (...) {  // of memory
  ::_exit(1);
}

class Texts {
 public:
  Texts(std::deque<Seen> waiting, const TextsPatience& patience, const std::string& folder)
      : waiting_(std::move(waiting)), patience_(patience), folder_(folder) {}

  Result<TextsOfAll> read() {
    const auto deadline = Clock::now() + patience_.all;
    while (!waiting_.empty() && Clock::now() < deadline) {
      TRY(const bool stood, read_on(deadline));
      if (stood) pass_over_first();
    }
    for (const Seen& one : waiting_) found_.untold.push_back(one.pid);
    return std::move(found_);
  }

 private:
  // By one reader. True: it waits for the first of those that wait.
  Result<bool> read_on(Clock::time_point deadline) {
    TRY(Pipe said, make_pipe());
    const pid_t parent = ::getpid();
    reader_ = ::fork();
    if (reader_ < 0)
      return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
    if (reader_ == 0) tell(folder_, waiting_, said.writer.get(), parent);
    said.writer.reset();
    std::string bytes;
    bool ended = false, by_turns = false;
    since_ = Clock::now();
    asked_ = waiting_.front().user;
    while (!ended && !by_turns) {
      const auto next = std::min(deadline, Clock::now() + patience_of(asked_));
      const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
      pollfd event{said.reader.get(), POLLIN, 0};
      const int ready = retry_interrupted(
          [&] { return ::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(0, left))); });
      if (ready <= 0) break;
      std::array<char, 65536> part{};
      const ssize_t got =
          retry_interrupted([&] { return ::read(said.reader.get(), part.data(), part.size()); });
      ended = got <= 0;
      if (!ended) bytes.append(part.data(), static_cast<std::size_t>(got));
      by_turns = take(bytes);
    }
    int status = 0;
    ::kill(reader_, SIGKILL);
    const bool is_gone = reap_until(reader_, Clock::now() + kEndsWithin, status);
    // It was ahead of those that come in another order now.
    if (!is_gone && !waiting_.empty())
      found_.left.push_back({reader_, by_turns ? 0 : waiting_.front().pid, asked_});
    // One that died at a process would do so again.
    return !by_turns && !waiting_.empty() && (ended || Clock::now() < deadline);
  }

  // What is whole of them. True: others are to come first, by a new reader.
  bool take(std::string& bytes) {
    std::size_t used = 0;
    bool by_turns = false;
    Head head;
    while (bytes.size() - used >= sizeof head && !by_turns) {
      std::memcpy(&head, bytes.data() + used, sizeof head);
      const std::size_t all = head.bytes[0] + head.bytes[1] + head.bytes[2];
      if (bytes.size() - used - sizeof head < all) break;
      used += sizeof head;
      if (head.told == Told::kAsks) continue;
      const uid_t user = waiting_.front().user;
      if (head.told == Told::kTexts && has_room(user, all)) {
        ProcessTexts& texts = found_.texts.emplace_back();
        texts.pid = head.pid;
        for (const auto& [text, size] :
             {std::pair(&texts.stat, head.bytes[0]), std::pair(&texts.status, head.bytes[1]),
              std::pair(&texts.cgroup, head.bytes[2])}) {
          text->assign(bytes, used, size);
          used += size;
        }
      } else {
        used += all;
        found_.too_much.push_back(head.pid);
      }
      waiting_.pop_front();
      if (!waiting_.empty()) asked_ = waiting_.front().user;
      by_turns = took_his_time(user);
    }
    bytes.erase(0, used);
    return by_turns;
  }

  bool has_room(uid_t user, std::size_t bytes) {
    std::size_t& of_user = bytes_[user];
    const std::size_t beyond = bytes - std::min(bytes, kFreeBytesOfOne);
    if (of_user + beyond > kMostBytesOfUser || all_bytes_ + bytes > kMostBytesOfAll) return false;
    of_user += beyond;
    all_bytes_ += bytes;
    return true;
  }

  // The kernel takes some 10 ms for the status of a process with 65,536 groups.
  bool took_his_time(uid_t user) {
    const auto now = Clock::now();
    auto& taken = taken_[user];
    taken += now - std::exchange(since_, now);
    if (taken < patience_.of_user) return false;
    taken = {};
    return set_back(user);
  }

  // False: nothing changes by it.
  bool set_back(uid_t user) {
    ++set_back_[user];
    const auto before = [&](const Seen& a, const Seen& b) {
      return set_back_[a.user] < set_back_[b.user];
    };
    if (std::is_sorted(waiting_.begin(), waiting_.end(), before)) return false;
    std::stable_sort(waiting_.begin(), waiting_.end(), before);
    return true;
  }

  void pass_over_first() {
    const Seen held = waiting_.front();
    waiting_.pop_front();
    found_.held.push_back(held.pid);
    set_back(held.user);
    patience_of(held.user) =
        std::max(std::min(kShortest, patience_.one), patience_of(held.user) / 2);
  }

  milliseconds& patience_of(uid_t user) {
    return patiences_.try_emplace(user, patience_.one).first->second;
  }

  std::deque<Seen> waiting_;
  TextsPatience patience_;
  const std::string& folder_;
  pid_t reader_ = 0;
  uid_t asked_ = 0;  // whose process it is at, before others come first
  Clock::time_point since_;
  std::map<uid_t, Clock::duration> taken_;
  std::map<uid_t, milliseconds> patiences_;
  std::map<uid_t, std::size_t> bytes_, set_back_;
  std::size_t all_bytes_ = 0;
  TextsOfAll found_;
};

}  // namespace

bool UserOrder::before(uid_t one, uid_t other) const {
  constexpr uid_t kFirstOrdinary = 1000;  // login.defs(5)
  const bool ordinary = one >= kFirstOrdinary, other_ordinary = other >= kFirstOrdinary;
  if (ordinary != other_ordinary) return !ordinary;
  return processes_.at(one) > processes_.at(other);
}

SubordinateIds::SubordinateIds(std::string_view subuid) {
  for (const std::string_view line : split(subuid, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() != 3) continue;
    const auto first = parse_unsigned(fields[1]), count = parse_unsigned(fields[2]);
    constexpr std::uint64_t kMost = std::numeric_limits<uid_t>::max();
    if (!first || !count || *first > kMost || *count == 0) continue;
    const std::uint64_t last = *first + std::min(*count - 1, kMost - *first);
    ranges_[static_cast<uid_t>(*first)] = static_cast<uid_t>(last);
  }
}

uid_t SubordinateIds::counts_as(uid_t user) const {
  auto after = ranges_.upper_bound(user);
  if (after == ranges_.begin()) return user;
  const auto& [first, last] = *--after;
  return user <= last ? first : user;
}

Result<TextsOfAll> read_process_texts(const std::set<pid_t>& passed, std::optional<uid_t> of,
                                      const TextsPatience& patience, const std::string& folder) {
  Errands errands;
  const auto seen = errands.run(
      patience.all, folder, [&] { return seen_in(folder, of); }, kMostListed * sizeof(Seen));
  if (!seen && seen.error().code == ETIMEDOUT)
    return environment_error(ETIMEDOUT, fmt::format("a process holds the folder {}", folder),
                             "find who reads it, and end that");
  if (!seen) return error_of(seen);
  std::deque<Seen> waiting = by_turns(*seen);
  std::erase_if(waiting,
                [&](const Seen& one) { return passed.contains(one.pid) || one.pid == ::getpid(); });
  return Texts(std::move(waiting), patience, folder).read();
}

}  // namespace hwprof::observe
