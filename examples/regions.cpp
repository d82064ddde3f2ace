// c++ -std=c++20 regions.cpp $(pkg-config --cflags --libs hwprof)
#include <hwprof/region.h>

#include <cstdio>
#include <vector>

int main() {
  if (const auto problem = hwprof::start_regions("task-clock,page-faults"); !problem.empty())
    return std::fprintf(stderr, "%s\n", problem.c_str()), 2;
  const std::size_t n = 1 << 20;
  double sum = 0;
  for (int step = 0; step < 10; ++step) {
    hwprof::Region whole("step");
    std::vector<float> x;
    {
      hwprof::Region fill("fill");
      x.assign(n, 0.5F);
    }
    hwprof::Region dot("dot");
    dot.declare({.flops = 2.0 * n, .bytes = 4.0 * n});
    for (const float value : x) sum += value * value;
  }
  std::printf("%s", hwprof::regions_text().c_str());
  return sum > 0 ? 0 : 1;
}
