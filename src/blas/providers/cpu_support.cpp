// Sources: OpenBLAS Changelog.txt up to 0.3.21, and what 0.3.21 chooses under QEMU for each model
// of the table (tests/cpu_support_qemu_test.py asks it anew); Meteor Lake and Granite Rapids are
// not in that file, but in a range of model numbers that the code takes. BLIS 0.9.0 on a Zen 5
// chooses "generic" (measured). MKL chooses by features on Intel CPUs; on AMD's, by what it was
// taught: 2020 Update 2 has a dgemm for Zen and computes sgemm with SSE
// (github.com/pytorch/builder, issue 504). Nobody looked at its later releases.
#include "src/blas/providers/cpu_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "counters/events/event_table.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

// Of one library: the first release that knows a model.
enum class Known : std::uint8_t {
  kNotLooked,  // nobody looked, or all in use do
  kSince,      // `release` is the first one
  kNotBy,      // `release` does not, and was the last one to be looked at
};

struct Support {
  Known known = Known::kNotLooked;
  std::string_view release = {};
};

constexpr Support since(std::string_view release) { return {Known::kSince, release}; }
constexpr Support not_by(std::string_view release) { return {Known::kNotBy, release}; }

struct Generation {
  std::string_view name;  // as the event table calls the core
  std::string_view isa;   // the widest vectors that each CPU of it has
  bool amx = false;
  Support openblas = {}, blis = {}, mkl = {};
};

constexpr Generation kGenerations[] = {
    {"Intel Haswell", "avx2"},
    {"Intel Broadwell", "avx2", false, since("0.2.15")},
    {"Intel Skylake", "avx2", false, since("0.2.15")},
    {"Intel Kaby/Coffee Lake", "avx2", false, since("0.2.20")},
    {"Intel Comet Lake", "avx2", false, since("0.3.11")},
    {"Intel Skylake-SP/Cascade Lake", "avx512f", false, since("0.3.1")},
    {"Intel Ice Lake", "avx512f", false, since("0.3.9")},
    {"Intel Ice Lake-SP", "avx512f", false, since("0.3.16")},
    {"Intel Ice Lake-D", "avx512f", false, since("0.3.16")},
    {"Intel Tiger Lake", "avx512f", false, since("0.3.14")},
    {"Intel Rocket Lake", "avx512f", false, since("0.3.14")},
    {"Intel Alder Lake P-core", "avx2", false, since("0.3.19")},
    {"Intel Alder Lake-N (Gracemont)", "avx2", false, not_by("0.3.21")},
    {"Intel Raptor Lake P-core", "avx2", false, not_by("0.3.21")},
    {"Intel Meteor Lake P-core", "avx2"},
    {"Intel Lunar Lake P-core", "avx2", false, not_by("0.3.21")},
    {"Intel Arrow Lake P-core", "avx2", false, not_by("0.3.21")},
    {"Intel Sapphire Rapids", "avx512f", true, since("0.3.19")},
    {"Intel Emerald Rapids", "avx512f", true, not_by("0.3.21")},
    {"Intel Granite Rapids", "avx512f", true},
    {"AMD Zen", "avx2", false, since("0.2.20"), {}, not_by("2020.0.2")},
    {"AMD Zen 2", "avx2", false, since("0.2.20"), {}, not_by("2020.0.2")},
    {"AMD Zen 3", "avx2", false, since("0.3.11")},
    {"AMD Zen 4", "avx512f"},
    {"AMD Zen 5", "avx512f", false, {}, not_by("0.9.0")},
};

const Generation* generation_of(const CpuId& id) {
  for (const CoreRow* core : core_kinds(id)) {
    for (const Generation& generation : kGenerations) {
      if (generation.name == core->name) return &generation;
    }
  }
  return nullptr;
}

bool shows(const VisibleCpu& cpu, std::string_view isa) {
  return std::find(cpu.isa.begin(), cpu.isa.end(), isa) != cpu.isa.end();
}

// "avx512f": "AVX-512"
std::string_view in_prose(std::string_view isa) {
  return isa == "avx512f" ? "AVX-512" : isa == "avx2" ? "AVX2" : isa;
}

std::string model_in_words(const CpuId& id, const Generation& generation) {
  return fmt::format("model {} ({})", id.model, generation.name);
}

// "0.3.21" is before "0.3.9" as a text. Up to the first part that is no number.
bool is_before(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto next = [](std::string_view& text) {
      unsigned number = 0;
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      const auto used = static_cast<std::size_t>(parsed.ptr - text.data());
      text.remove_prefix(std::min(text.size(), used + 1));
      if (used == 0) text = {};
      return number;
    };
    const unsigned left = next(a), right = next(b);
    if (left != right) return left < right;
  }
  return false;
}

const Support* support_by(Provider provider, const Generation& generation) {
  if (provider == Provider::kOpenBlas) return &generation.openblas;
  if (provider == Provider::kBlis) return &generation.blis;
  if (provider == Provider::kMkl) return &generation.mkl;
  return nullptr;
}

// "it does not know model 207 (Intel Emerald Rapids)"
std::string too_old(Provider provider, std::string_view version, const CpuId& id,
                    const Generation& generation) {
  const Support* support = support_by(provider, generation);
  if (support == nullptr || version.empty()) return "";
  const std::string unknown = fmt::format("it does not know {}", model_in_words(id, generation));
  if (support->known == Known::kSince && is_before(version, support->release))
    return fmt::format("{}, which {} does", unknown, support->release);
  if (support->known == Known::kNotBy && !is_before(support->release, version)) return unknown;
  return "";
}

}  // namespace

std::string odd_about(const VisibleCpu& cpu) {
  const Generation* generation = generation_of(cpu.id);
  if (generation == nullptr) return "";
  const char* who = cpu.virtualized ? "the hypervisor" : "the CPU";
  if (!generation->amx && shows(cpu, "amx_tile")) {
    return fmt::format("{} says {}, but the CPU has AMX", who, model_in_words(cpu.id, *generation));
  }
  // More than each CPU of the model has is no contradiction: early Alder Lakes have AVX-512 where
  // firmware leaves it on.
  for (const std::string_view isa : {"avx2", "avx512f"}) {
    if (!shows(cpu, isa)) {
      return fmt::format("{} {}, which each {} has",
                         cpu.virtualized ? "the hypervisor hides" : "firmware or the kernel hides",
                         in_prose(isa), generation->name);
    }
    if (isa == generation->isa) break;
  }
  return "";
}

std::string why_core(Provider provider, std::string_view version, VectorClass vectors,
                     const VisibleCpu& cpu) {
  const int seen = rank(widest_vector_class(cpu.isa));
  if (rank(vectors) < 0 || rank(vectors) >= seen) return "";
  const Generation* generation = generation_of(cpu.id);
  const std::string old =
      generation != nullptr ? too_old(provider, version, cpu.id, *generation) : "";
  const std::string odd = odd_about(cpu);
  const bool by_model = provider == Provider::kOpenBlas || provider == Provider::kBlis;
  if (old.empty()) return odd.empty() || !by_model ? odd : odd + ", and it chooses by model";
  return odd.empty() ? old : fmt::format("{}; {}", old, odd);
}

}  // namespace hwprof::blas
