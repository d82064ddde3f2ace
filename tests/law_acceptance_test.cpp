// How often the judge of growth accepts wrong laws and refuses right ones, by made-up measurements.
// HWPROF_TRIALS=200 repeats each case as often as the table of docs/trust.md has it, and prints it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include "src/measure/scaling_law.h"

namespace hwprof {
namespace {

int trials() {
  const char* asked = std::getenv("HWPROF_TRIALS");
  return asked == nullptr ? 2 : std::atoi(asked);
}

struct Law {
  std::string name;
  bool right = false;
  double low = 0, high = 0;  // sizes
  std::function<double(double)> time_ns, model;
};

double itself(double n) { return n; }

const std::vector<Law> kLaws = {
    {"n against n", true, 32, 2048, itself, itself},
    {"n-k+1 against n-k+1", true, 32, 2048, [](double n) { return n - 9; },
     [](double n) { return n - 9; }},
    {"a fixed cost and n against n", true, 32, 2048, [](double n) { return 20 + n; }, itself},
    {"n log n against n, 1e3 to 1e5", false, 1e3, 1e5, [](double n) { return n * std::log(n); },
     itself},
    {"a fixed cost and n log n against n", false, 1e3, 1e5,
     [](double n) { return 2000 + n * std::log(n); }, itself},
    {"n^1.15 against n", false, 32, 2048, [](double n) { return std::pow(n, 1.15); }, itself},
    {"a model without k, k 2 to 32", false, 2, 32, itself, [](double) { return 300.0; }},
    {"a model without d_e, d_e 50 to 400", false, 50, 400, itself, [](double) { return 8.0; }},
};

struct Noise {
  std::string name;
  double sigma = 0;     // of the logarithm of a slice
  double mood = 0;      // correlation of a slice with the one before of the same point
  bool shared = false;  // one mood for all points: what interleaving makes of a busy machine
  std::size_t samples = 15;
};

const std::vector<Noise> kNoises = {
    {"none", 0},
    {"1 %", 0.01},
    {"8 %", 0.08},
    {"8 %, 60 slices", 0.08, 0, false, 60},
    {"15 %", 0.15},
    {"15 %, 60 slices", 0.15, 0, false, 60},
    {"8 % in moods, rho 0.8", 0.08, 0.8},
    {"15 % in moods of the whole machine", 0.15, 0.8, true, 60},
};

std::vector<LawPoint> simulated(const Law& law, const Noise& noise, std::size_t sizes,
                                std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  const auto moods = [&] {
    std::vector<double> course(noise.samples);
    double mood = normal(random);
    for (double& value : course) {
      value = noise.sigma * mood;
      mood = noise.mood * mood + std::sqrt(1 - noise.mood * noise.mood) * normal(random);
    }
    return course;
  };
  const std::vector<double> of_machine = moods();
  std::vector<LawPoint> points;
  for (std::size_t i = 0; i < sizes; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(sizes - 1);
    const double size = std::round(law.low * std::pow(law.high / law.low, share));
    LawPoint& point = points.emplace_back();
    point.size = static_cast<std::uint64_t>(size);
    point.model = law.model(size);
    const std::vector<double> own = moods();
    for (std::size_t j = 0; j < noise.samples; ++j) {
      const double factor =
          noise.shared ? of_machine[j] + 0.1 * own[j] : own[j];  // neighbours differ a little
      point.samples.push_back(law.time_ns(size) * std::exp(factor));
    }
  }
  return points;
}

struct Count {
  int agreed = 0, refused = 0, open = 0;
};

Count judged(const Law& law, const Noise& noise, std::size_t sizes) {
  Count count;
  std::mt19937_64 random(11 + sizes);
  for (int i = 0; i < trials(); ++i) {
    const auto verdict = scaling_law(simulated(law, noise, sizes, random), {.size = "n"});
    ++(!verdict.agrees ? count.open : *verdict.agrees ? count.agreed : count.refused);
  }
  return count;
}

TEST(LawAcceptance, NoWrongLawAgreesAndNoRightOneIsRefused) {
  const bool table = std::getenv("HWPROF_TRIALS") != nullptr;
  if (table) {
    std::cout << "| law | noise of a slice | sizes | agrees | refused | not judged |\n"
                 "| --- | --- | --- | --- | --- | --- |\n";
  }
  const std::vector<std::size_t> all_sizes = {7, 12}, few_sizes = {7};
  for (const Law& law : kLaws) {
    for (const Noise& noise : kNoises) {
      for (const std::size_t sizes : table ? all_sizes : few_sizes) {
        const Count count = judged(law, noise, sizes);
        if (table) {
          std::cout << fmt::format("| {} | {} | {} | {} | {} | {} |\n", law.name, noise.name, sizes,
                                   count.agreed, count.refused, count.open);
        }
        const std::string what = fmt::format("{}, {}, {} sizes", law.name, noise.name, sizes);
        if (law.right) {
          // Interleaved sizes share their moods; moods of one size alone are harder than what is.
          const bool alone = noise.mood > 0 && !noise.shared;
          EXPECT_LE(count.refused, trials() / (alone ? 20 : 50)) << what;
        } else {
          EXPECT_EQ(count.agreed, 0) << what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hwprof
