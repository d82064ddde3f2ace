#include "src/blas/exact/exact_calls.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "src/base/own_parts.h"
#include "src/base/untrusted_file.h"
#include "src/blas/exact/count_file.h"
#include "src/measure/exact_functions.h"
#include "src/observe/calls/bindings.h"
#include "src/observe/calls/exact_wish.h"
#include "src/observe/routines/flop_count.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNumbersOfThreads[] = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                             "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};
constexpr std::uint64_t kMostBytesOfCall = sizeof(CountHead) +
                                           kMostCountedFiles * sizeof(CountedFile) +
                                           std::uint64_t{kMostCountedBlocks} * sizeof(FileBlock);
constexpr std::uint64_t kMostBytesOfAll = std::uint64_t{1} << 30U;  // of all calls

template <std::size_t kRoom>
std::string text_of(const char (&text)[kRoom]) {
  return {text, ::strnlen(text, kRoom)};
}

// The form of the file: what its head says of it fits its size.
Result<CountHead> read_head(const std::string& bytes) {
  CountHead head;
  if (bytes.size() < sizeof(head)) return usage_error("it is cut off");
  std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof(head));
  if (head.magic != kCountMagic) return usage_error("it was written by another hwprof");
  if (head.files > kMostCountedFiles || head.blocks > kMostCountedBlocks ||
      bytes.size() != sizeof(head) + head.files * sizeof(CountedFile) +
                          std::uint64_t{head.blocks} * sizeof(FileBlock))
    return usage_error("its size is not what it says");
  return head;
}

// What hwprof has between the caller and the routine, and at the edges of a region and in it.
bool is_own(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return name == "libhwprof-exact.so" || name == "libhwprof-audit.so" ||
         name.starts_with("libhwprof.so");
}

std::vector<PlacedBlock> blocks_of(const CountHead& head, const char* at) {
  std::vector<std::string> files;
  for (std::uint32_t i = 0; i < head.files; ++i, at += sizeof(CountedFile)) {
    CountedFile file;
    std::memcpy(static_cast<void*>(&file), at, sizeof(file));
    files.push_back(text_of(file.path));
  }
  std::vector<PlacedBlock> blocks;
  for (std::uint32_t i = 0; i < head.blocks; ++i, at += sizeof(FileBlock)) {
    FileBlock block;
    std::memcpy(static_cast<void*>(&block), at, sizeof(block));
    std::string file = block.file < files.size() ? files[block.file] : "";
    if (is_own(file)) continue;
    blocks.push_back({.file = std::move(file), .at = block.offset, .counts = block.counts});
  }
  return blocks;
}

std::string form_of(const observe::Shape& shape) {
  std::string form;
  const auto add = [&](observe::ShapeForm bit, const char* text) {
    if ((shape.form & bit) == 0) return;
    form += form.empty() ? text : std::string(", ") + text;
  };
  add(observe::kRowMajor, "row-major");
  add(observe::kRightSide, "right side");
  add(observe::kTransposedA, "A transposed");
  add(observe::kTransposedB, "B transposed");
  return form;
}

void set_shape(const observe::Shape& shape, model::ExactCall& call) {
  call.m = shape.m;
  call.n = shape.n;
  call.k = shape.k;
  call.form = form_of(shape);
  observe::Routine routine;
  if (!observe::find_routine(call.symbol.c_str(), routine)) return;
  const double flops = observe::flop_count(routine, shape);
  if (flops > 0) call.model_flops = flops;
}

model::ExactCount sum_of(std::span<const PlacedBlock> blocks, const SymbolOf& symbol_of) {
  exact::Counts sum;
  for (const PlacedBlock& block : blocks) sum += block.counts;
  model::ExactCount count = exact_count(sum);
  count.by_function = exact_functions(blocks, symbol_of);
  return count;
}

Result<model::ExactCall> parse(const std::string& bytes, const SymbolOf& symbol_of) {
  TRY(const CountHead head, read_head(bytes));
  model::ExactCall call;
  (head.of_region != 0 ? call.region : call.symbol) = text_of(head.name);
  call.call = head.call;
  call.caller = observe::mapped_path(text_of(head.caller));
  call.library = observe::mapped_path(text_of(head.library));
  if (head.has_shape != 0) set_shape(head.shape, call);
  // Of less than one there are none, and what is counted over it may be infinite.
  if (head.declared_flops >= 1 && std::isfinite(head.declared_flops))
    call.model_flops = head.declared_flops;
  if (head.counted == 0) {
    const std::string hint = text_of(head.hint);
    call.reason = text_of(head.reason) + (hint.empty() ? "" : "; " + hint);
    return call;
  }
  call.count = sum_of(blocks_of(head, bytes.data() + sizeof(head)), symbol_of);
  if (call.model_flops) call.to_model = static_cast<double>(call.count->flops) / *call.model_flops;
  return call;
}

// Behind what the variable is already.
std::string with_option(const char* variable, const std::string& option) {
  const char* before = std::getenv(variable);
  const bool others = before != nullptr && *before != '\0';
  return fmt::format("{}={}{}{}", variable, others ? before : "", others ? ":" : "", option);
}

}  // namespace

Result<model::ExactCall> parse_exact_call(const std::string& bytes) {
  return parse(bytes, symbols_of_files());
}

Result<ExactCalls> ExactCalls::prepare() {
  TRY(std::string library,
      find_own_part("the library that counts calls exactly",
                    {"src/blas/libhwprof-exact.so", HWPROF_LIBDIR "/hwprof/libhwprof-exact.so"}));
  // The loader takes the variable apart at both.
  if (library.find_first_of(": \n") != std::string::npos) {
    return environment_error(0, "LD_PRELOAD cannot name " + library,
                             "put hwprof into a folder without colons and blanks in its path");
  }
  TRY(PrivateFolder folder, PrivateFolder::make("exact"));
  return ExactCalls(std::move(library), std::move(folder));
}

std::vector<std::string> exact_variables() {
  std::vector<std::string> names = {"LD_PRELOAD=", "ASAN_OPTIONS="};
  for (const char* name : kNumbersOfThreads) names.push_back(std::string(name) + "=");
  return names;
}

std::vector<std::string> ExactCalls::environment() const {
  std::vector<std::string> variables = {
      with_option("LD_PRELOAD", library_),
      fmt::format("{}={}", kExactVariable, folder_.path().string()),
      // Else GCC's runtime, which is a library, ends a program in which another one is before it.
      with_option("ASAN_OPTIONS", "verify_asan_link_order=0")};
  for (std::string& variable : one_thread()) variables.push_back(std::move(variable));
  return variables;
}

std::vector<std::string> ExactCalls::one_thread() {
  std::vector<std::string> variables;
  for (const char* name : kNumbersOfThreads)
    if (std::getenv(name) == nullptr) variables.push_back(fmt::format("{}=1", name));
  return variables;
}

std::vector<model::ExactCall> ExactCalls::read() const {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_.path(), ignored)) {
    if (entry.path().extension() == ".exact") paths.push_back(entry.path());
    if (paths.size() >= observe::kMostExactCalls) break;
  }
  std::sort(paths.begin(), paths.end());
  const SymbolOf symbol_of = symbols_of_files();
  std::vector<model::ExactCall> calls;
  std::uint64_t left = kMostBytesOfAll;
  for (const fs::path& path : paths) {
    const auto bytes = read_untrusted(
        path.string(), {.owner = ::geteuid(), .most_bytes = std::min(left, kMostBytesOfCall)});
    if (bytes) left -= bytes->size();
    auto call = bytes ? parse(*bytes, symbol_of) : error_of(bytes);
    if (!call) {
      model::ExactCall unread;
      unread.reason =
          fmt::format("the count in {} is missing: {}", path.string(), call.error().what);
      call = std::move(unread);
    }
    calls.push_back(*std::move(call));
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.call < b.call; });
  return calls;
}

}  // namespace hwprof::blas
