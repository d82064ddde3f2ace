// The format of pprof: messages of protocol buffers, packed by gzip.
#include <zlib.h>

#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/report/flame/flame.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

// A message in the making (https://protobuf.dev/programming-guides/encoding): what profile.proto
// needs of it. A number that is 0 is left out, as the format has it.
class Message {
 public:
  void number(unsigned field, std::uint64_t value) {
    if (value == 0) return;
    varint(field << 3U);
    varint(value);
  }
  void text(unsigned field, std::string_view value) {
    varint(field << 3U | 2U);
    varint(value.size());
    bytes_ += value;
  }
  void message(unsigned field, const Message& value) { text(field, value.bytes_); }
  void packed(unsigned field, std::span<const std::uint64_t> values) {
    Message list;
    for (const std::uint64_t value : values) list.varint(value);
    message(field, list);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Numbers of the fields, as profile.proto names them.
namespace in_profile {
enum : unsigned {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kStringTable,
  kTimeNanos = 9,
  kDurationNanos,
  kPeriodType,
  kPeriod,
  kComment,
};
}
namespace in_value_type {
enum : unsigned { kType = 1, kUnit };
}
namespace in_sample {
enum : unsigned { kLocationId = 1, kValue, kLabel };
}
namespace in_label {
enum : unsigned { kKey = 1, kStr };
}
namespace in_mapping {
enum : unsigned {
  kId = 1,
  kMemoryStart,
  kMemoryLimit,
  kFilename = 5,
  kBuildId,
  kHasFunctions,
  kHasFilenames,
  kHasLineNumbers,
  kHasInlineFrames,
};
}
namespace in_location {
enum : unsigned { kId = 1, kMappingId, kAddress, kLine };
}
namespace in_line {
enum : unsigned { kFunctionId = 1, kLine };
}
namespace in_function {
enum : unsigned { kId = 1, kName, kSystemName, kFilename, kStartLine };
}

constexpr std::uint64_t kPage = 4096;

class PprofWriter {
 public:
  explicit PprofWriter(const PlacedStacks& stacks) : stacks_(stacks) { string(""); }

  std::string bytes(const FlameOptions& options) {
    const double period_ns = options.hz > 0 ? 1e9 / options.hz : 0;
    profile_.message(in_profile::kSampleType, value_type("samples", "count"));
    if (period_ns > 0) profile_.message(in_profile::kSampleType, value_type("cpu", "nanoseconds"));
    for (const PlacedStacks::Stack& stack : stacks_.stacks) add_stack(stack, period_ns);
    add_mappings();
    for (std::size_t i = 0; i < stacks_.places.size(); ++i) add_location(i);
    profile_.number(in_profile::kTimeNanos, static_cast<std::uint64_t>(options.started_ns));
    profile_.number(in_profile::kDurationNanos, static_cast<std::uint64_t>(options.wall_ns));
    if (period_ns > 0) {
      profile_.message(in_profile::kPeriodType, value_type("cpu", "nanoseconds"));
      profile_.number(in_profile::kPeriod, static_cast<std::uint64_t>(std::llround(period_ns)));
    }
    const std::uint64_t comments[] = {string(options.title), string("hwprof " HWPROF_VERSION)};
    profile_.packed(in_profile::kComment, comments);
    for (const std::string& text : strings_) profile_.text(in_profile::kStringTable, text);
    return profile_.bytes();
  }

 private:
  // Its place in the table of strings. pprof prints them to terminals.
  std::uint64_t string(std::string_view text) {
    const auto [known, added] = string_numbers_.emplace(printable(text), strings_.size());
    if (added) strings_.push_back(known->first);
    return known->second;
  }
  Message value_type(std::string_view type, std::string_view unit) {
    Message message;
    message.number(in_value_type::kType, string(type));
    message.number(in_value_type::kUnit, string(unit));
    return message;
  }
  void add_stack(const PlacedStacks::Stack& stack, double period_ns) {
    Message sample;
    std::vector<std::uint64_t> locations;
    for (const std::size_t place : stack.places) locations.push_back(place + 1);
    sample.packed(in_sample::kLocationId, locations);
    std::vector<std::uint64_t> values = {stack.samples};
    if (period_ns > 0) {
      values.push_back(
          static_cast<std::uint64_t>(std::llround(period_ns * static_cast<double>(stack.samples))));
    }
    sample.packed(in_sample::kValue, values);
    Message label;
    label.number(in_label::kKey, string("process"));
    label.number(in_label::kStr, string(stack.process));
    sample.message(in_sample::kLabel, label);
    profile_.message(in_profile::kSample, sample);
  }
  void add_mappings() {
    struct Has {
      bool files = false, inlined = false;
    };
    std::vector<Has> has(stacks_.objects.size());
    for (const PlacedStacks::Place& place : stacks_.places) {
      if (!place.object) continue;
      Has& object = has.at(*place.object);
      object.files = object.files || !place.lines.front().file.empty();
      object.inlined = object.inlined || place.lines.size() > 1;
    }
    std::uint64_t start = kPage;  // not 0, which says that nothing is known
    for (std::size_t i = 0; i < stacks_.objects.size(); ++i) {
      const PlacedStacks::Object& object = stacks_.objects[i];
      const std::uint64_t limit = start + (object.bytes / kPage + 1) * kPage;
      Message mapping;
      mapping.number(in_mapping::kId, i + 1);
      mapping.number(in_mapping::kMemoryStart, start);
      mapping.number(in_mapping::kMemoryLimit, limit);
      mapping.number(in_mapping::kFilename, string(object.path));
      mapping.number(in_mapping::kBuildId, string(object.build_id));
      mapping.number(in_mapping::kHasFunctions, 1);
      mapping.number(in_mapping::kHasFilenames, has[i].files ? 1 : 0);
      mapping.number(in_mapping::kHasLineNumbers, has[i].files ? 1 : 0);
      mapping.number(in_mapping::kHasInlineFrames, has[i].inlined ? 1 : 0);
      profile_.message(in_profile::kMapping, mapping);
      starts_.push_back(start);
      start = limit;
    }
  }
  void add_location(std::size_t number) {
    const PlacedStacks::Place& place = stacks_.places[number];
    Message location;
    location.number(in_location::kId, number + 1);
    if (place.object) {
      location.number(in_location::kMappingId, *place.object + 1);
      location.number(in_location::kAddress, starts_.at(*place.object) + place.offset);
    }
    for (const SourceLine& one : place.lines) {
      Message line;
      line.number(in_line::kFunctionId, function(one));
      line.number(in_line::kLine, static_cast<std::uint64_t>(one.line));
      location.message(in_location::kLine, line);
    }
    profile_.message(in_profile::kLocation, location);
  }
  std::uint64_t function(const SourceLine& line) {
    const auto key = std::tuple(line.function, line.file, line.first_line);
    const auto [known, added] = functions_.emplace(key, functions_.size() + 1);
    if (!added) return known->second;
    Message function;
    function.number(in_function::kId, known->second);
    function.number(in_function::kName, string(line.function));
    function.number(in_function::kSystemName, string(line.function));
    function.number(in_function::kFilename, string(line.file));
    function.number(in_function::kStartLine, static_cast<std::uint64_t>(line.first_line));
    profile_.message(in_profile::kFunction, function);
    return known->second;
  }

  const PlacedStacks& stacks_;
  Message profile_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint64_t> string_numbers_;
  std::map<std::tuple<std::string, std::string, std::int32_t>, std::uint64_t> functions_;
  std::vector<std::uint64_t> starts_;  // of the objects
};

// "" where there is no memory for it.
std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max()) return "";
  constexpr int kGzip = 16, kMemory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return "";
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  // zlib reads through a pointer to what it could write.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string pprof_profile(const PlacedStacks& stacks, const FlameOptions& options) {
  return gzipped(PprofWriter(stacks).bytes(options));
}

}  // namespace hwprof::report
