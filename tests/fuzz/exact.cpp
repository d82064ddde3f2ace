// The file that a program leaves for each call that was counted exactly: a head, files, blocks.
#include <cmath>
#include <vector>

#include "src/blas/exact/count_file.h"
#include "src/blas/exact/exact_calls.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof::blas;

template <class Record>
void append(std::string& to, const Record& record) {
  to.append(reinterpret_cast<const char*>(&record), sizeof record);
}

template <std::size_t kRoom>
void set(char (&to)[kRoom], std::string_view text) {
  text.copy(to, kRoom);
}

// Whose head says what it has, before some of its bytes are changed.
std::string file_of_count(Feed& feed) {
  constexpr std::string_view kSymbols[] = {"cblas_sgemm", "dtrsm_", "sdot_", "layer"};
  CountHead head;
  head.call = feed.number<std::uint64_t>();
  head.counted = feed.below(4) == 0 ? 0 : 1;
  head.of_region = static_cast<std::uint32_t>(feed.below(2));
  head.has_shape = static_cast<std::uint32_t>(feed.below(2));
  head.files = static_cast<std::uint32_t>(feed.below(4));
  head.blocks = static_cast<std::uint32_t>(feed.below(8));
  head.declared_flops = feed.number<std::uint32_t>();
  head.shape = {feed.number<std::uint32_t>(), feed.number<std::uint32_t>(),
                feed.number<std::uint32_t>(), feed.number<std::uint8_t>()};
  set(head.name, kSymbols[feed.below(std::size(kSymbols))]);
  set(head.caller, feed.text());
  set(head.library, feed.text());
  set(head.reason, feed.text());
  std::string bytes;
  append(bytes, head);
  for (std::uint32_t i = 0; i < head.files; ++i) {
    CountedFile file;
    set(file.path, feed.text());
    append(bytes, file);
  }
  for (std::uint32_t i = 0; i < head.blocks; ++i) {
    FileBlock block;
    block.file = static_cast<std::uint32_t>(feed.below(5));
    block.offset = feed.number<std::uint32_t>();
    block.counts.instructions = feed.number<std::uint64_t>();
    block.counts.flops[feed.below(4)][feed.below(4)] = feed.number<std::uint64_t>();
    append(bytes, block);
  }
  return bytes;
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  std::string bytes;
  if (feed.below(4) == 0) {
    bytes = feed.rest();
  } else {
    bytes = file_of_count(feed);
    while (!feed.empty()) bytes[feed.number<std::uint16_t>() % bytes.size()] = feed.number<char>();
  }
  const auto call = parse_exact_call(bytes);
  if (!call) {
    must(!call.error().what.empty());
    return;
  }
  must(!call->model_flops || (std::isfinite(*call->model_flops) && *call->model_flops > 0));
  must(!call->to_model || (std::isfinite(*call->to_model) && call->count && call->model_flops));
  must(!call->count || call->reason.empty());
  must(call->symbol.size() + call->region.size() <= sizeof(CountHead::name));
}
