// c++ -std=c++20 cast.cpp $(pkg-config --cflags --libs hwprof hwprof-memory) -o cast
// The lesson of a profiler tutorial: a mask of thresholds is computed from a copy of the input. A
// copy in double, a copy in float, no copy: run it by `hwprof run` and compare time and memory.
#include <hwprof/region.h>

#include <algorithm>
#include <cstdio>
#include <vector>

template <class Number>
std::size_t count_above_mean(const std::vector<float>& x, const char* name) {
  hwprof::Region whole(name);
  std::vector<Number> copy;
  {
    hwprof::Region cast("CAST");
    copy.assign(x.begin(), x.end());
  }
  hwprof::Region mask("MASK INDICES");
  Number sum = 0;
  for (const Number value : copy) sum += value;
  const Number mean = sum / static_cast<Number>(copy.size());
  return static_cast<std::size_t>(
      std::count_if(copy.begin(), copy.end(), [&](Number value) { return value > mean; }));
}

std::size_t count_in_place(const std::vector<float>& x) {
  hwprof::Region whole("NO COPY");
  hwprof::Region mask("MASK INDICES");
  float sum = 0;
  for (const float value : x) sum += value;
  const float mean = sum / static_cast<float>(x.size());
  return static_cast<std::size_t>(
      std::count_if(x.begin(), x.end(), [&](float value) { return value > mean; }));
}

int main() {
  std::vector<float> x(1 << 20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000);
  std::size_t found = 0;
  for (int pass = 0; pass < 10; ++pass) {
    found += count_above_mean<double>(x, "IN DOUBLE");
    found += count_above_mean<float>(x, "IN FLOAT");
    found += count_in_place(x);
  }
  std::printf("%zu\n", found);
}
