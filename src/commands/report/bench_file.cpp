#include "src/commands/report/bench_file.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace hwprof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kVersion = "1";          // of the keys that bench/main.cpp writes
constexpr std::size_t kMostCases = 1000;            // bench/ has 43
constexpr double kLargestWhole = 9007199254740992;  // 2^53: above it, doubles skip some
constexpr double kMostThreads = 1 << 16;
constexpr std::size_t kLongestKey = 100;
constexpr const char* kHowToBench = "scripts/bench -o FOLDER writes FOLDER/run-1.json and more";

// Where in the file something is: for errors.
struct Place {
  const std::string& path;
  std::size_t index;

  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view key, std::string_view wanted) const {
    return usage_error(fmt::format("{}: benchmarks[{}].{} is no {}", path, index, key, wanted),
                       kHowToBench);
  }
};

const Json* find(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found != object.end() ? &*found : nullptr;
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_true(const Json& object, std::string_view key) {
  const Json* found = find(object, key);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

Result<double> positive(const Json& entry, std::string_view key, const Place& place) {
  const Json* found = find(entry, key);
  const double value = found != nullptr && found->is_number() ? found->get<double>() : 0;
  if (!std::isfinite(value) || !(value > 0)) return place.wrong(key, "number that is more than 0");
  return value;
}

Result<std::uint64_t> whole(const Json& entry, std::string_view key, const Place& place,
                            double most) {
  const Json* found = find(entry, key);
  const double value = found != nullptr && found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0) || value > most || value != std::floor(value))
    return place.wrong(key, fmt::format("whole number up to {:.0f}", most));
  return static_cast<std::uint64_t>(value);
}

// "size:k" -> "k", "onednn:ns" -> "onednn".
std::string_view behind(std::string_view key, std::string_view prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : "";
}
std::string_view before(std::string_view key, std::string_view suffix) {
  return key.ends_with(suffix) ? key.substr(0, key.size() - suffix.size()) : "";
}

Result<BenchTime> read_time(const Json& entry, std::string_view name, const Place& place) {
  BenchTime time{.name = std::string(name)};
  TRY(time.ns, positive(entry, time.name + ":ns", place));
  const std::string low = time.name + ":ns_low", high = time.name + ":ns_high";
  if (find(entry, low) == nullptr && find(entry, high) == nullptr) return time;
  TRY(time.low_ns, positive(entry, low, place));
  TRY(time.high_ns, positive(entry, high, place));
  if (*time.low_ns > time.ns || time.ns > *time.high_ns)
    return place.wrong(time.name + ":ns", "number between its ns_low and ns_high");
  return time;
}

Result<BenchCase> read_case(const Json& entry, const Place& place) {
  const std::string name = text_of(entry, "name");
  if (name.empty()) return place.wrong("name", "text");
  BenchCase read{.op = name.substr(0, name.find('/'))};
  if (is_true(entry, "error_occurred")) {
    read.failure = text_of(entry, "error_message");
    if (read.failure.empty()) read.failure = "it failed";
    return read;
  }
  TRY(const std::uint64_t threads, whole(entry, "threads", place, kMostThreads));
  read.threads = static_cast<int>(threads);
  TRY(read.flops, positive(entry, "flops", place));
  TRY(read.bytes, positive(entry, "bytes", place));
  for (const auto& [key, value] : entry.items()) {
    if (key.size() > kLongestKey) continue;  // none of ours
    if (const std::string_view size = behind(key, "size:"); !size.empty()) {
      TRY(const std::uint64_t number, whole(entry, key, place, kLargestWhole));
      read.sizes.emplace_back(size, number);
    } else if (const std::string_view who = before(key, ":ns");
               !who.empty() && find(entry, fmt::format("{}:ours", who)) != nullptr) {
      TRY(BenchTime time, read_time(entry, who, place));
      read.peers.push_back(std::move(time));
    }
  }
  return read;
}

}  // namespace

bool is_benchmark(const Json& json) {
  if (!json.is_object() || json.contains("schema")) return false;
  const Json* context = find(json, "context");
  return context != nullptr && context->is_object() && json.contains("benchmarks");
}

Result<BenchFile> read_bench(const std::string& path, const Json& json) {
  const Json& context = json["context"];
  const Json& entries = json["benchmarks"];
  const std::string version = text_of(context, "hwprof_bench");
  if (version.empty())
    return usage_error(
        fmt::format("{} is of Google Benchmark, but not of hwprof's bench: its context has no "
                    "hwprof_bench",
                    path),
        kHowToBench);
  if (version != kVersion)
    return usage_error(
        fmt::format("{} has version {} of hwprof_bench, which is not known here", path, version),
        fmt::format("known: {}", kVersion));
  BenchFile file{.path = path, .cpu = text_of(context, "cpu")};
  if (file.cpu.empty())
    return usage_error(fmt::format("{}: context.cpu is no text", path), kHowToBench);
  if (!entries.is_array() || entries.size() > kMostCases)
    return usage_error(fmt::format("{}: benchmarks is no list of up to {} cases", path, kMostCases),
                       kHowToBench);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Json& entry = entries[i];
    const Place place{path, i};
    if (!entry.is_object())
      return usage_error(fmt::format("{}: benchmarks[{}] is no object", path, i), kHowToBench);
    // Means over repetitions, which are here themselves.
    if (text_of(entry, "run_type") == "aggregate") continue;
    TRY(BenchCase read, read_case(entry, place));
    file.cases.push_back(std::move(read));
  }
  return file;
}

}  // namespace hwprof
