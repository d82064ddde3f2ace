// The child of the ladder's tests: what `hwprof __rung` is for hwprof, and a few ways to go wrong.
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "src/blas/rung.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return 2;
  if (arguments[0] == "exit") return std::stoi(arguments.at(1));
  if (arguments[0] == "raise") return std::raise(std::stoi(arguments.at(1)));
  if (arguments[0] == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  return hwprof::blas::run_rung({arguments.begin() + 1, arguments.end()});
}
