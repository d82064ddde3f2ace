// Finds the loop around an instruction and what it computes, for any instruction set that can be
// decoded one step at a time. Internal to width_*.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "src/observe/samples/width.h"

namespace hwprof::observe {

enum class Flow {
  kNext,    // goes on behind itself; calls do too
  kBranch,  // may also go to `target`
  kJump,    // goes to `target` only
  kEnd,     // return, indirect jump, trap: where it goes is not known
};

struct Step {
  std::uint64_t length = 0;
  Flow flow = Flow::kNext;
  std::uint64_t target = 0;
  // Of floating-point (or dot-product) arithmetic only: kUnclassified where its width is unknown.
  std::optional<LoopWidth> arithmetic;
  bool fma = false;
  bool multiplies = false, adds = false;  // the second: or subtracts
};

// `decode(address)` gives the Step there, or nothing outside [begin, end) and where bytes are none.
template <class Decode>
class LoopScan {
 public:
  LoopScan(Decode decode, std::uint64_t begin, std::uint64_t end, std::uint64_t ip)
      : decode_(std::move(decode)), begin_(begin), end_(end), ip_(ip) {
    if (end_ > begin_) known_.resize(end_ - begin_, kUndecoded);
  }

  // Of the loop that classify() judged; empty where it found none.
  [[nodiscard]] LoopBounds bounds() const { return bounds_; }

  // Follows the code from the instruction on, and what forward branches skip to when that ends,
  // until something branches back to or before it.
  LoopClass classify() {
    if (step_at(ip_) == nullptr) return {};
    std::vector<bool> seen(known_.size());
    std::vector<std::uint64_t> pending;  // targets of forward branches, to go on with later
    std::size_t candidates = 0;
    std::uint64_t at = ip_;
    for (std::size_t steps = 0; steps < kMaximumSteps; ++steps) {
      const Step* found = is_inside(at) && !seen[at - begin_] ? step_at(at) : nullptr;
      std::optional<std::uint64_t> next;
      if (found != nullptr) {
        const Step step = *found;  // judging decodes more, and may move it
        seen[at - begin_] = true;
        const bool transfers = step.flow == Flow::kBranch || step.flow == Flow::kJump;
        if (transfers && step.target <= ip_ && candidates++ < kMaximumCandidates) {
          if (const auto loop = judge(step.target, at + step.length)) return *loop;
        }
        if (step.flow == Flow::kBranch && step.target > at) pending.push_back(step.target);
        if (step.flow == Flow::kNext || step.flow == Flow::kBranch) next = at + step.length;
        if (step.flow == Flow::kJump) next = step.target;
      }
      if (!next || (is_inside(*next) && seen[*next - begin_])) {
        if (pending.empty()) break;
        // The nearest first: the exit of a loop lies behind what still belongs to it.
        const auto nearest = std::min_element(pending.begin(), pending.end());
        next = *nearest;
        pending.erase(nearest);
      }
      at = *next;
    }
    return {LoopWidth::kNoLoop, false};
  }

 private:
  // 64 KiB hold about as many instructions as this.
  static constexpr std::size_t kMaximumSteps = 16'000;
  // Backward branches that turned out to close no loop around the instruction, before giving up:
  // each is looked at instruction by instruction.
  static constexpr std::size_t kMaximumCandidates = 64;
  // Of so many instructions of a product one computes, at least: of those of the reference BLAS as
  // compilers translate it, one in 4, of the loop of an interpreter, one in some 100.
  static constexpr std::size_t kSparse = 20;
  static constexpr std::int32_t kUndecoded = -1, kUndecodable = -2;

  struct Count {
    std::size_t all = 0, fma = 0;
  };

  // The class of [begin, end) when it is a loop around the instruction: control that enters at
  // `begin` must be able to arrive there. Otherwise `begin` is merely an earlier address: the
  // shared end of a function, or the function placed before this one.
  std::optional<LoopClass> judge(std::uint64_t begin, std::uint64_t end) {
    std::set<std::uint64_t> targets;
    std::array<Count, 7> counts{};
    std::size_t steps = 0, arithmetic = 0, multiplications = 0, additions = 0;
    bool reached = true, arrives = false;
    end = std::max(end, ip_ + 1);
    for (std::uint64_t at = begin; at < end;) {
      const Step* step = step_at(at);
      if (step == nullptr) return std::nullopt;
      reached = reached || targets.contains(at);
      if (at == ip_) arrives = reached;
      if (at > ip_ && !arrives) return std::nullopt;
      const bool transfers = step->flow == Flow::kBranch || step->flow == Flow::kJump;
      if (transfers && step->target > at && at < ip_) targets.insert(step->target);
      if (step->flow == Flow::kJump || step->flow == Flow::kEnd) reached = false;
      ++steps;
      if (step->multiplies) ++multiplications;
      if (step->adds) ++additions;
      if (step->arithmetic) {
        ++arithmetic;
        Count& count = counts.at(static_cast<std::size_t>(*step->arithmetic));
        ++count.all;
        if (step->fma) ++count.fma;
      }
      at += step->length;
    }
    if (!arrives) return std::nullopt;
    bounds_ = {begin, end};
    LoopClass loop = majority(counts);
    loop.products = multiplications > 0 && additions > 0 && kSparse * arithmetic >= steps;
    return loop;
  }

  // What most of the arithmetic is; the wider of equals. Unclassified arithmetic counts too: where
  // it prevails nothing is known.
  static LoopClass majority(const std::array<Count, 7>& counts) {
    LoopClass best{LoopWidth::kNoArithmetic, false};
    std::size_t most = 0;
    for (const LoopWidth width : {LoopWidth::kUnclassified, LoopWidth::k512, LoopWidth::k256,
                                  LoopWidth::k128, LoopWidth::kScalar}) {
      const Count& count = counts.at(static_cast<std::size_t>(width));
      if (count.all <= most) continue;
      most = count.all;
      best = {width, 2 * count.fma > count.all};
    }
    return best;
  }

  [[nodiscard]] bool is_inside(std::uint64_t address) const {
    return address >= begin_ && address - begin_ < known_.size();
  }
  // Each address is decoded once; valid until the next call.
  const Step* step_at(std::uint64_t address) {
    if (!is_inside(address)) return nullptr;
    std::int32_t& known = known_[address - begin_];
    if (known == kUndecoded) {
      const auto step = decode_(address);
      known = step ? static_cast<std::int32_t>(steps_.size()) : kUndecodable;
      if (step) steps_.push_back(*step);
    }
    return known == kUndecodable ? nullptr : &steps_[static_cast<std::size_t>(known)];
  }

  Decode decode_;
  std::uint64_t begin_, end_, ip_;
  std::vector<std::int32_t> known_;  // by address: index into steps_
  std::vector<Step> steps_;
  LoopBounds bounds_;
};

}  // namespace hwprof::observe
