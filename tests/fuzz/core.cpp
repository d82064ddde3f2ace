// What a BLAS has chosen, read from the memory of a process: the file that says where it lies and
// the memory are both the process's own.
#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/library_file.h"
#include "src/blas/providers/providers.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
using namespace hwprof::blas;

constexpr const char* kPaths[] = {"/lib/libopenblas.so.0", "/lib/libmkl_avx2.so.1", "/lib/libmkl_",
                                  "libblis.so.4", ""};

// Some bytes from an address on; nothing anywhere else.
struct Memory {
  std::string_view bytes;
  std::uint64_t base = 0;

  bool operator()(std::uint64_t address, void* to, std::size_t size) const {
    const std::uint64_t at = address - base;
    if (at > bytes.size() || bytes.size() - at < size) return false;
    std::memcpy(to, bytes.data() + at, size);
    return true;
  }
};

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  LibraryFile file;
  file.provider = static_cast<report::Provider>(feed.below(all_providers().size()));
  const std::string path = kPaths[feed.below(std::size(kPaths))];
  const auto bias = feed.number<std::uint64_t>();
  const ProviderFacts& provider = facts(file.provider);
  const auto place = [&](std::string_view symbol) {
    const bool there = feed.below(8) != 0;
    const auto address = feed.number<std::uint16_t>();
    if (there && !symbol.empty()) file.symbols.emplace(symbol, address);
  };
  place(provider.chooser);
  for (const std::string_view symbol : provider.kept) {
    if (!symbol.empty()) place(symbol);
  }
  for (std::size_t tables = feed.below(4); tables > 0; --tables) {
    const auto address = feed.number<std::uint16_t>();
    const std::string_view name = feed.text();
    if (!name.empty()) file.core_tables.emplace(address, name);
  }
  const bool at_the_end = feed.below(8) == 0;
  const std::string_view bytes = feed.rest();
  const Memory memory{bytes, at_the_end ? 0 - std::uint64_t{bytes.size()} : bias};
  const report::ChosenCore chosen = core_in_memory(file, path, bias, memory, "process 1");
  must(chosen.provider == file.provider && chosen.path == path);
  // A core, or the reason why none is known.
  must(chosen.core.empty() ? !chosen.reason.empty() && chosen.how.empty()
                           : chosen.reason.empty() && !chosen.how.empty());
  must(!chosen.threads || *chosen.threads > 0);
}
