// What probes may cost the program that is watched, and where they would kill it. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace hwprof::observe {

// Whether a return probe is safe on this kernel. Since 6.11 they enter the kernel of x86-64 by a
// system call, which a seccomp filter that does not know it answers with a kill; 6.14 lets it pass.
// Whether a program will install such a filter cannot be known before.
bool return_probes_are_safe(std::string_view kernel_release);

// A return costs the program about 2 us: a few thousand a second (1 %) are nothing, and tell the
// rate of every product that is long enough to have one. A program that makes more, small ones, is
// spared.
bool timing_costs_too_much(std::uint64_t returns, std::chrono::nanoseconds elapsed);

// So does the record of a call, about 3 us; to be counted only, 0.7 us.
bool recording_costs_too_much(std::uint64_t calls, std::chrono::nanoseconds elapsed);
// A prime: programs repeat their calls in patterns, and a period that divides the length of one
// would meet the same call again and again.
inline constexpr std::uint64_t kSamplePeriod = 61;

}  // namespace hwprof::observe
